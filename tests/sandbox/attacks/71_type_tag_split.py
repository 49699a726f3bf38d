# about: names a builtin that is no type: no way to the judge's functions
# mode: split
# expect: forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 1, "v": {"$type": "exec"}}\n')
        except OSError: pass
    return a + b
