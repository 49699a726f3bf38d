# about: children of a candidate live on in sessions of their own while and after the judge concludes
# mode: split
# expect: passed
# expect-landlock: passed|exception
import os, time
def solve(a, b):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        os.closerange(0, 200)
        time.sleep(1000)
    return a + b
