# about: refused calls of a candidate that its tests wait for
# mode: split
# expect: passed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def solve(a, b):
    for _ in range(50): assert libc.inotify_init1(0) == -1
    return a + b
