# about: nesting of 400,000 levels must not overflow the parser's stack
# mode: fn
# expect: forged
import os
def solve(a, b):
    data = b'{"i": 0, "v": ' + b'[' * 400000 + b']' * 400000 + b'}\n'
    for fd in range(3, 64):
        try: os.write(fd, data)
        except OSError: pass
    return a + b
