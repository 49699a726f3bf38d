# about: an error that is a list, where an object belongs
# mode: split
# expect: exception|forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 1, "e": [[["AssertionError"]]]}\n')
        except OSError: pass
    return a + b
