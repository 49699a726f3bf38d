# about: an opaque value equals nothing, also not when it says that it is 3
# mode: fn
# expect: wrong_answer|forged
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 0, "v": {"$opaque": "3", "truth": true, "repr": "3"}}\n')
        except OSError: pass
    os._exit(0)
