# expect: passed
# mode: split
import os
def solve(a, b):
    os.fork()
    return a + b
