# about: instances of many children
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(20):
    pid = os.fork()
    if pid == 0: os._exit(int(libc.inotify_init1(0) >= 0))
    assert os.waitpid(pid, 0)[1] == 0
