# about: says good-bye with the verdict in it; the judge alone has a channel of verdicts
# mode: split
# expect: forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 4, "left": true, "verdict": "passed"}\n')
        except OSError: pass
    return None
