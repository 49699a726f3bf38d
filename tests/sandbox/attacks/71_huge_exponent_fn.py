# about: 1e999999999 must not be written out
# mode: fn
# wall: 10
# expect: forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 0, "v": {"$decimal": "1e999999999"}}\n')
        except OSError: pass
    os._exit(0)
