# about: greets and answers last to first while it loads, before anything was asked
# mode: fn
# expect: forged|exited
import os
for fd in range(3, 64):
    try: os.write(fd, b'{"ready": true}\n{"i": 2, "v": 0}\n{"i": 1, "v": 7}\n{"i": 0, "v": 3}\n')
    except OSError: pass
os._exit(0)
