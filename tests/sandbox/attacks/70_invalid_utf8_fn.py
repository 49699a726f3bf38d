# about: an answer that is no UTF-8 must neither crash the harness nor be read
# mode: fn
# expect: forged
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 0, "v": "\xff\xfe\xed\xa0\x80"}\n')
        except OSError: pass
    return a + b
