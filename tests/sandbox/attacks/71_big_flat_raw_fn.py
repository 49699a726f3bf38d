# about: 7 MiB of empty lists, the answer that takes the most memory to read
# mode: fn
# wall: 20
# expect: wrong_answer|output_limit|memory_limit|forged
import os, stat
def solve(a, b):
    data = b'{"i": 0, "v": [' + b'[],' * 2400000 + b'[]]}\n'
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                while data: data = data[os.write(fd, data):]
        except OSError: pass
    os._exit(0)
