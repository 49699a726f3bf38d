# about: a fork bomb whose copies all hold the judge's stream
# mode: split
# wall: 2
# expect: timeout|exception|exited|memory_limit|wrong_answer|forged
# expect-landlock: timeout|exception|exited|memory_limit|wrong_answer|forged|sandbox_violation
import os
def solve(a, b):
    while True:
        try: os.fork()
        except OSError: pass
