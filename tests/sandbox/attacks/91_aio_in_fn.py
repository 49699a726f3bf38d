# about: io_setup by a function that then answers as it should
# mode: fn
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
here = os.uname().machine == "x86_64"
def refused(number, *args):
    ctypes.set_errno(0)
    assert not here or libc.syscall(number, *args) == -1 and ctypes.get_errno() == 38, (number, ctypes.get_errno())
def solve(a, b):
    refused(206, 65536, ctypes.byref(ctypes.c_ulong(0)))
    return a + b
