# about: calls that no list names do not exist: remap_file_pages, mseal, cachestat, get_kernel_syms, sysfs
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
numbers = {'x86_64': (216, 462, 451, 177, 139, 236), 'aarch64': (234, 462, 451)}[os.uname().machine]
for number in numbers:
    ctypes.set_errno(0)
    assert libc.syscall(number, 0, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == 38, number
