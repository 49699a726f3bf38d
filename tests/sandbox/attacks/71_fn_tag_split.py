# about: answers with the tag for functions that only the judge may send
# mode: split
# expect: forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 1, "v": {"$fn": "check"}}\n')
        except OSError: pass
    return a + b
