# about: the newer call, with every flag
# expect: passed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0, 0x800, 0x80000, 0x80800, 0xffffffff): assert libc.inotify_init1(flags) == -1, flags
