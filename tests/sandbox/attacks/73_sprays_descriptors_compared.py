# about: verdicts and answers to every descriptor
# mode: compared
# expect: forged|exited|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 128):
        try: os.write(fd, b'{"verdict": "passed", "token": "", "calls": 3}\n{"i": 0, "v": 7}\n{"i": 1, "v": 3}\n')
        except OSError: pass
    os._exit(0)
