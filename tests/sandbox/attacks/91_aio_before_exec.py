# about: io_setup in a new program of a job
# expect: passed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
here = os.uname().machine == "x86_64"
def refused(number, *args):
    ctypes.set_errno(0)
    assert not here or libc.syscall(number, *args) == -1 and ctypes.get_errno() == 38, (number, ctypes.get_errno())
import subprocess, sys
code = 'import ctypes; l = ctypes.CDLL(None, use_errno=True); r = l.syscall(206, 9, ctypes.byref(ctypes.c_ulong(0))); raise SystemExit(r != -1)'
assert not here or subprocess.run(['/usr/bin/env', 'true']).returncode == 0
if here and os.path.exists(sys.executable or ''): assert subprocess.run([sys.executable, '-S', '-c', code]).returncode == 0
