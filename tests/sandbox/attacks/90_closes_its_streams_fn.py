# about: reopens 0, 1 and 2 as other things; the answers still count
# mode: fn
# expect: passed|exited|exception
import os
def solve(a, b):
    for fd in (0, 1, 2): os.close(fd)
    for path in ('/dev/zero', 'x', '/dev/full'): os.open(path, os.O_RDWR | os.O_CREAT)
    return a + b
