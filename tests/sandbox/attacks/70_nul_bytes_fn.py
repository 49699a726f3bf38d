# about: NUL bytes for an answer: no JSON, so tampering
# mode: fn
# expect: forged
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'\0' * 100 + b'\n')
        except OSError: pass
    return a + b
