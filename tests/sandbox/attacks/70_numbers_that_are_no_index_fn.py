# about: 0.0, -0, "0" and 1e0 are not the index 0
# mode: fn
# expect: forged
import os
ways = iter([b'0.0', b'"0"', b'1e0', b'[0]'])
def solve(a, b):
    line = b'{"i": %s, "v": 3}\n' % next(ways)
    for fd in range(3, 64):
        try: os.write(fd, line)
        except OSError: pass
    return a + b
