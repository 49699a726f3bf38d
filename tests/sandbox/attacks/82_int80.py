# about: the 32-bit entry would have other numbers for everything: whoever takes it is killed
# expect: sandbox_violation|crashed(SIGSEGV)|crashed(SIGILL)|exception
import ctypes, mmap, os
if os.uname().machine != 'x86_64': raise OSError('no such entry')
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('b814000000cd80c3'))          # mov eax, 20 (getpid); int 0x80; ret
run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
raise OSError('it answered %d' % run())
