# about: as many busy children as there may be, deaf to every signal
# wall: 1
# expect: timeout
# expect-landlock: timeout|exception
import os, signal
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(4): os.fork()
while True: pass
