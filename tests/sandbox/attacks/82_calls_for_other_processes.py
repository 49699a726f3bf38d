# about: process_madvise, kcmp, move_pages, process_mrelease, ioprio and robust lists of its parent are refused
# expect: passed|sandbox_violation
import ctypes, os
if os.uname().machine == 'x86_64':
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    pidfd = libc.syscall(434, parent, 0)
    for call in ((440, pidfd, 0, 1, 21, 0), (312, parent, parent, 0, 0, 1), (279, parent, 1, 0, 0, 0, 0), (448, pidfd, 0), (251, 1, parent, 0x6000), (256, parent, 8, 0, 0), (274, 1, 0, 0)):
        assert libc.syscall(*call) < 0, call
