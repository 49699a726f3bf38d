# about: a thread reads what is asked before the runner does; unanswered calls are never passed
# mode: fn
# wall: 2
# expect: timeout|exited|forged|exception|wrong_answer
import os, stat, threading
def steal():
    while True:
        for fd in range(3, 64):
            try:
                if stat.S_ISSOCK(os.fstat(fd).st_mode): os.read(fd, 1 << 20)
            except OSError: pass
for _ in range(4): threading.Thread(target=steal, daemon=True).start()
import time; time.sleep(0.2)
def solve(a, b): return 41
