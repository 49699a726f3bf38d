# about: a million empty lines: the first is already no answer
# mode: fn
# expect: forged
import os
def solve(a, b):
    for fd in range(3, 64):
        try:
            for _ in range(16): os.write(fd, b'\n' * 65536)
        except OSError: pass
    return a + b
