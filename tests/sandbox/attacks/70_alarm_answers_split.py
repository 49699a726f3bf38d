# about: a signal handler writes answers in the midst of the calls
# mode: split
# expect: forged|wrong_answer
import os, signal, time
def answer(*_):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 3, "v": 0}\n')
        except OSError: pass
signal.signal(signal.SIGALRM, answer)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def solve(a, b):
    end = time.time() + 0.05
    while time.time() < end: pass
    return 3
