# about: the address space of one process is bounded by what its page tables may take
# expect: passed
import ctypes, os, time
l = ctypes.CDLL(None, use_errno=True)
l.mmap.restype = ctypes.c_void_p
l.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
byte = ctypes.c_char.from_address
failed = ctypes.c_void_p(-1).value
assert l.mmap(None, 300 << 30, 1, 0x4022, -1, 0) == failed
assert ctypes.get_errno() == 12
assert l.mmap(None, 10 << 30, 0, 0x4022, -1, 0) != failed, 'what node reserves'
total, sizes = 0, []
while l.mmap(None, 1 << 30, 0, 0x4022, -1, 0) != failed: total += 1
assert 60 < total < 130, total
