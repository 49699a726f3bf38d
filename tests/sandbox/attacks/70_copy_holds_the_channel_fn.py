# about: a copy keeps the channel open for ever after the program ended; the harness must not wait for it
# mode: fn
# expect: exited
# expect-landlock: exited|exception
import os, time
def solve(a, b):
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
