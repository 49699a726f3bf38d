# about: a million different keys in one object
# mode: fn
# wall: 20
# expect: wrong_answer|output_limit|memory_limit|forged
import os, stat
def solve(a, b):
    data = b'{"i": 0, "v": {' + b','.join(b'"%x":0' % k for k in range(700000)) + b'}}\n'
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                while data: data = data[os.write(fd, data):]
        except OSError: pass
    os._exit(0)
