# about: leaves half an answer on the channel and ends: what is cut off is no answer
# mode: fn
# expect: exited|forged
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 0, "v"')
        except OSError: pass
    os._exit(0)
