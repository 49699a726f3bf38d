# about: a copy that is the fork server's child, not the program's, must not keep the server from its work
# expect: sandbox_violation
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
CLONE_PARENT, SIGCHLD = 0x8000, 17
CLONE = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]
r = libc.syscall(CLONE, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
if r == 0:
    time.sleep(1000)
assert r > 0, 'refused'
raise RuntimeError('no copy')
