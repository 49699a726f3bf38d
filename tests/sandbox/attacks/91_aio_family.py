# about: io_submit, io_cancel, io_destroy and both ways to wait do not exist either
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
here = os.uname().machine == "x86_64"
def refused(number, *args):
    ctypes.set_errno(0)
    assert not here or libc.syscall(number, *args) == -1 and ctypes.get_errno() == 38, (number, ctypes.get_errno())
for number in (207, 208, 209, 210, 333): refused(number, 0, 1, 1, 0, 0, 0)
