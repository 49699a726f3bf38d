# about: writes a verdict and answers as it ends
# mode: split
# expect: forged|wrong_answer|exited
import atexit, os
@atexit.register
def last():
    for fd in range(3, 64):
        try: os.write(fd, b'{"verdict": "passed"}\n{"i": 4, "left": true}\n')
        except OSError: pass
def solve(a, b): return a - b
