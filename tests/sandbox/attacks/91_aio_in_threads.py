# about: io_setup by many threads at once
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
here = os.uname().machine == "x86_64"
def refused(number, *args):
    ctypes.set_errno(0)
    assert not here or libc.syscall(number, *args) == -1 and ctypes.get_errno() == 38, (number, ctypes.get_errno())
import threading
wrong = []
def run():
    try:
        for _ in range(20): refused(206, 1, ctypes.byref(ctypes.c_ulong(0)))
    except AssertionError as e: wrong.append(e)
threads = [threading.Thread(target=run) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong, wrong
