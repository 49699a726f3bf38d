# about: sync and its kin do nothing, and say so as they do elsewhere: no file of a job outlives it
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
host = os.open('/usr/bin/env', os.O_RDONLY)
for _ in range(1000):
    os.sync()
    assert libc.syncfs(host) == 0 and libc.fsync(host) == 0
with open('own', 'w') as f:
    f.write('x')
    f.flush()
    os.fsync(f.fileno())
    os.fdatasync(f.fileno())
assert open('own').read() == 'x'
