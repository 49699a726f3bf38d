# about: the page at a fixed address is no way past the filter
# expect: passed|crashed(SIGSEGV)|sandbox_violation
import ctypes, os
if os.uname().machine == 'x86_64':
    ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(0xffffffffff600400)(None)
