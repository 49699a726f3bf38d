# about: runs a program that lies in no file system: memory files can't be made
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.memfd_create(b'x', 0)
assert fd < 0, fd
