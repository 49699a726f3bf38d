# expect: forged
# mode: fn
import os
def solve(a, b):
    if a == 0: os.write(4, b'{"i": 2, "v": 0}\n')
    return a + b
