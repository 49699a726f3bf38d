# expect: forged
# mode: split
import os
def solve(a, b):
    for fd in range(3, 128):
        try: os.write(fd, b'{"t":"done","verdict":"passed","token":"x"}\n{"i":1,"v":3}\n')
        except OSError: pass
    os._exit(0)
