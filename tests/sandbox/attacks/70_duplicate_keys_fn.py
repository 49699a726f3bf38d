# about: keys given twice, so that two readers would see two answers; the honest one behind it is one too many
# mode: fn
# expect: forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 9, "v": 3, "i": 0, "e": {"type": "X"}, "v": 99}\n')
        except OSError: pass
    return a + b
