# about: a line of a gigabyte: the harness keeps 17 MiB of it at most
# mode: fn
# wall: 10
# expect: forged|timeout
import os, stat
def solve(a, b):
    while True:
        for fd in range(3, 64):
            try:
                if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, b'x' * 65536)
            except OSError: pass
