# about: refused calls of many processes for ever: the time is up all the same
# expect: timeout
# wall: 2
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(6):
    if os.fork() == 0: break
while True: libc.inotify_init1(0)
