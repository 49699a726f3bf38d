# about: io_setup in children and grandchildren
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
here = os.uname().machine == "x86_64"
def refused(number, *args):
    ctypes.set_errno(0)
    assert not here or libc.syscall(number, *args) == -1 and ctypes.get_errno() == 38, (number, ctypes.get_errno())
def child(depth):
    pid = os.fork()
    if pid == 0:
        try:
            refused(206, 100, ctypes.byref(ctypes.c_ulong(0)))
            if depth: child(depth - 1)
        except BaseException: os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
for _ in range(3): child(2)
