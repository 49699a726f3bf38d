# about: an integer of five million hexadecimal digits: wrong, and cheap to find wrong
# mode: split
# wall: 10
# expect: wrong_answer|forged
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 1, "v": {"$int": "0x' + b'f' * 5000000 + b'"}}\n')
        except OSError: pass
    return a + b
