# about: a tag that does not exist
# mode: split
# expect: forged
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 1, "v": {"$eval": "3"}}\n')
        except OSError: pass
    return a + b
