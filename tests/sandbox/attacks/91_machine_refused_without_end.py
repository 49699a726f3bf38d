# about: refused calls without end: the harness stops being asked, and every one is still refused
# expect: passed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(30000): assert libc.inotify_init1(0) == -1
