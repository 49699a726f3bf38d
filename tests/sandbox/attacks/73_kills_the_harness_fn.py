# about: kills parent, group and everybody, then answers wrongly: whoever it could reach is its own
# mode: fn
# expect: wrong_answer|crashed(SIGKILL)|exited|exception
import os
for target in (os.getppid(), 1, 0, -1):
    if target in (0, -1): sig = 15
    else: sig = 9
    try:
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.kill(target, sig)
    except OSError: pass
def solve(a, b): return a - b
