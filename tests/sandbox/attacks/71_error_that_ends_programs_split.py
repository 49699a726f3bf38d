# about: an exception said to be an AssertionError, a SystemExit and a KeyboardInterrupt at once fails all the same
# mode: split
# expect: exited|exception|wrong_answer|forged
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 1, "e": {"type": "X", "mro": ["AssertionError", "SystemExit", "KeyboardInterrupt"], "message": "", "code": 0}}\n')
        except OSError: pass
    return a + b
