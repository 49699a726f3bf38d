# about: barriers for every processor of the machine
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
number = {'x86_64': 324, 'aarch64': 283}[os.uname().machine]
for command in (1, 2, 4): assert libc.syscall(number, command, 0, 0) == -1, command
assert libc.syscall(number, 0, 0, 0) >= -1
assert libc.syscall(number, 16, 0, 0) == 0 and libc.syscall(number, 8, 0, 0) == 0, 'those of the own threads'
