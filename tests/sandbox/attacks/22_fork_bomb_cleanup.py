# expect: timeout|exception|forged
# expect-landlock: timeout|exception|forged|sandbox_violation
# wall: 1
# mode: script
import os,signal
signal.signal(signal.SIGTERM,signal.SIG_IGN)
n=0
while True:
    try:
        if os.fork()==0: os.setsid()
    except OSError: pass
