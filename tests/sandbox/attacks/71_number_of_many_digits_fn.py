# about: a number of a million digits as an answer, which nobody may convert at quadratic cost
# mode: fn
# wall: 10
# expect: forged|wrong_answer
import os, stat
def solve(a, b):
    data = b'{"i": 0, "v": ' + b'7' * 1000000 + b'}\n'
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                while data: data = data[os.write(fd, data):]
        except OSError: pass
    os._exit(0)
