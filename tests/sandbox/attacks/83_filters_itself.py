# about: a filter of its own that would turn forbidden calls into success: strictest wins, and none may be added
# expect: passed|sandbox_violation
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
class Op(ctypes.Structure): _fields_ = [('code', ctypes.c_ushort), ('jt', ctypes.c_ubyte), ('jf', ctypes.c_ubyte), ('k', ctypes.c_uint)]
class Prog(ctypes.Structure): _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.POINTER(Op))]
ops = (Op * 1)(Op(6, 0, 0, 0x7fff0000))
libc.prctl(22, 2, ctypes.byref(Prog(1, ops)), 0, 0)
fd = libc.socket(2, 1, 0)
assert fd < 0, fd
