# about: takes descriptors out of its parent by pidfd_getfd
# expect: sandbox_violation|exception
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.syscall(434, os.getppid(), 0)
for n in range(64):
    assert libc.syscall(438, fd, n, 0) < 0
raise OSError('refused')
