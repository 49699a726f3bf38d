# about: io_setup takes from a limit of the whole machine
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
here = os.uname().machine == "x86_64"
def refused(number, *args):
    ctypes.set_errno(0)
    assert not here or libc.syscall(number, *args) == -1 and ctypes.get_errno() == 38, (number, ctypes.get_errno())
for n in (60000, 5000, 500, 1): refused(206, n, ctypes.byref(ctypes.c_ulong(0)))
