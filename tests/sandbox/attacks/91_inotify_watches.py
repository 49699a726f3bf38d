# about: watches on files of the host
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for fd in range(20):
    for path in (b'/usr', b'/usr/bin/env', b'@BAIT@', b'.'): assert libc.inotify_add_watch(fd, path, 0xfff) == -1
assert libc.inotify_rm_watch(0, 1) == -1
