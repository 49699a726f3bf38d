# about: what is let go leaves its page tables behind
# expect: memory_limit
# wall: 60
import ctypes, os, time
l = ctypes.CDLL(None, use_errno=True)
l.mmap.restype = ctypes.c_void_p
l.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
byte = ctypes.c_char.from_address
for _ in range(3):
    if os.fork() == 0: break
n = 30000
p = l.mmap(None, n << 21, 1, 0x4022, -1, 0)
l.madvise(ctypes.c_void_p(p), ctypes.c_size_t(n << 21), 15)
for i in range(n):
    byte(p + (i << 21)).value
    l.madvise(ctypes.c_void_p(p + (i << 21)), ctypes.c_size_t(4096), 4)
time.sleep(600)
