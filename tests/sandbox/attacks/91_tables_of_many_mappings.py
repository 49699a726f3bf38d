# about: page tables of sixty mappings of 1 GiB in each of four processes
# expect: memory_limit
# wall: 60
import ctypes, os, time
l = ctypes.CDLL(None, use_errno=True)
l.mmap.restype = ctypes.c_void_p
l.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
byte = ctypes.c_char.from_address
for _ in range(3):
    if os.fork() == 0: break
for _ in range(60):
    p = l.mmap(None, 1 << 30, 1, 0x4022, -1, 0)
    l.madvise(ctypes.c_void_p(p), ctypes.c_size_t(1 << 30), 15)
    for i in range(512): byte(p + (i << 21)).value
time.sleep(600)
