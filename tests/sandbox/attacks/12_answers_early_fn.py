# expect: forged
# mode: fn
import os
os.write(4, b'{"ready": true}\n{"i": 0, "v": 3}\n')
def solve(a, b): return a + b
