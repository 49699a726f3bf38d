# expect: forged
# mode: split
import os
def solve(a, b):
    os.write(4, b'{"i": 1, "v": 3}\n{"i": 2, "v": 7}\n{"i": 3, "v": 0}\n')
    return None
