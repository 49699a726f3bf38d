# about: readahead of files of the host
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open('/usr/bin/env', os.O_RDONLY)
assert libc.readahead(fd, ctypes.c_long(0), ctypes.c_size_t(1 << 20)) == -1
