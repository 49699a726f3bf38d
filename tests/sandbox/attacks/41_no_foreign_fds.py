# expect: passed
# mode: script
import os
fds = []
for fd in range(0, 256):
    try: os.fstat(fd)
    except OSError: continue
    fds.append(fd)
assert fds == [0, 1, 2], fds
