# expect: forged|timeout
# mode: split
import os
def solve(a, b):
    while True: os.write(4, b"x" * 65536)
