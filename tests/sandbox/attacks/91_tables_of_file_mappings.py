# about: page tables of one page of the interpreter, mapped 30000 times 2 MiB apart in each of four processes
# expect: memory_limit
# wall: 60
import ctypes, os, time
l = ctypes.CDLL(None, use_errno=True)
l.mmap.restype = ctypes.c_void_p
l.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
byte = ctypes.c_char.from_address
import sys
for _ in range(3):
    if os.fork() == 0: break
n = 30000
fd = os.open(sys.executable if os.path.exists(sys.executable) else '/usr/bin/env', os.O_RDONLY)
p = l.mmap(None, n << 21, 0, 0x4022, -1, 0)
for i in range(n):
    l.mmap(ctypes.c_void_p(p + (i << 21)), 4096, 1, 0x12, fd, 0)
    byte(p + (i << 21)).value
time.sleep(600)
