# about: system calls by the x32 numbers do not exist
# expect: passed|sandbox_violation
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if os.uname().machine == 'x86_64':
    for number in (39, 41, 101, 165, 520, 521):
        assert libc.syscall(0x40000000 + number, 0, 0, 0, 0) == -1 and ctypes.get_errno() == 38, number
