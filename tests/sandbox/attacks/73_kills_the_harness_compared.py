# about: SIGKILL to every number but its own during a call
# mode: compared
# expect: wrong_answer|exception|crashed(SIGKILL)|exited
import os
def solve(a, b):
    for pid in range(1, 3000):
        if pid != os.getpid():
            try: os.kill(pid, 9)
            except OSError: pass
    return a - b
