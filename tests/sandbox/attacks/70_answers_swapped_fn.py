# about: answers of other calls, which pass only if indices are not held against the calls
# mode: fn
# expect: forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 0, "v": 7}\n{"i": 2, "v": 3}\n{"i": 1, "v": 0}\n')
        except OSError: pass
    os._exit(0)
