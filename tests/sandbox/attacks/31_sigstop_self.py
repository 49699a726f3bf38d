# expect: timeout|passed
# wall: 1
# mode: script
import os,signal
os.kill(os.getpid(),signal.SIGSTOP)
