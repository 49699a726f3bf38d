# about: fanotify, and inotify on what is not its own
# expect: passed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.fanotify_init(0, 0) < 0
fd = libc.inotify_init1(0)
assert fd < 0 or libc.inotify_add_watch(fd, b'@BAIT@', 0xfff) < 0
