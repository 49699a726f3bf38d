# about: a stopped child holds the streams: the harness must not wait for their end
# mode: fn
# expect: passed
# expect-landlock: passed|exception
import os, signal, time
def solve(a, b):
    if os.fork() == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(1000)
    return a + b
