# about: puts stderr where the channel was: answers go astray and none is believed
# mode: fn
# wall: 2
# expect: exited|forged|timeout|exception
import os, stat
def solve(a, b):
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): os.dup2(2, fd)
        except OSError: pass
    return a + b
