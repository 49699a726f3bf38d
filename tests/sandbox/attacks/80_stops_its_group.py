# about: stops its whole group and whatever it can reach
# wall: 1
# expect: timeout|passed
import os, signal
for p in (0, -1):
    try: os.kill(p, signal.SIGSTOP)
    except OSError: pass
