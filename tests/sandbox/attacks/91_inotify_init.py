# about: inotify instances are counted by user, whose editor then gets none
# expect: passed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.inotify_init() == -1 and ctypes.get_errno() == 38
