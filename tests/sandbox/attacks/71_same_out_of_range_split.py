# about: says that it returned an argument which there is not
# mode: split
# expect: forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 1, "same": 77, "a": {"77": 3, "-1": 3, "x": []}}\n')
        except OSError: pass
    return a + b
