# about: fchmodat and fchmodat2 as they come, with odd flags, paths and descriptors
# expect: passed
import os
def attempt(what, *args):
    try: what(*args)
    except OSError: pass
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
number = {'x86_64': 268, 'aarch64': 53}[os.uname().machine]
bait = b'@BAIT@'
long = b'a' * 5000
for place in (-100, -1, 0, 3, 1000):
    for path in (bait, b'', b'.', b'../bait', long, None, ctypes.c_void_p(1), ctypes.c_void_p((1 << 47) - 4096)):
        libc.syscall(number, place, path, 0o700, 0)
        for flags in (0, 0x100, 0x1000, 0x1100, 0x7fffffff): libc.syscall(452, place, path, 0o700, flags)
