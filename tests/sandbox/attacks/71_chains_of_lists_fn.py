# about: lists in lists: each level takes the harness more memory than any other two bytes could
# mode: fn
# wall: 20
# expect: wrong_answer|output_limit|memory_limit|forged
import os, stat
def solve(a, b):
    data = b'{"i": 0, "v": [' + (b'[' * 90 + b']' * 90 + b',') * 40000 + b'0]}\n'
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                while data: data = data[os.write(fd, data):]
        except OSError: pass
    os._exit(0)
