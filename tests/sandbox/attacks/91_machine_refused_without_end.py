# about: refused calls without end: every one is answered, and the limits hold meanwhile
# expect: passed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(30000): assert libc.inotify_init1(0) == -1
