# about: a byte of an answer now and then keeps nobody waiting beyond the time of the call
# mode: fn
# wall: 1
# expect: timeout
import os, stat, time
def solve(a, b):
    while True:
        for fd in range(3, 64):
            try:
                if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, b' ')
            except OSError: pass
        time.sleep(0.02)
