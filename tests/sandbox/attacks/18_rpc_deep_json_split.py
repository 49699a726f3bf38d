# expect: forged
# mode: split
import os
def solve(a,b):
    os.write(4,b'{"i":1,"v":'+b"["*200000+b"]"*200000+b'}\n')
    return 3
