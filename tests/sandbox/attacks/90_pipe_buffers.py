# about: kernel memory in pipes and sockets
# expect: passed|exception
import fcntl, os, socket
kept, held = [], 0
try:
    while True:
        r, w = os.pipe(); os.set_blocking(w, False)
        try: fcntl.fcntl(w, 1031, 1 << 20)
        except OSError: pass
        try:
            while True: held += os.write(w, b'x' * 65536)
        except BlockingIOError: kept += [r, w]
except OSError: pass
assert held < 256 << 20, held
