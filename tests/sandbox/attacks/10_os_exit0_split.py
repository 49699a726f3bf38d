# expect: exited
# mode: split
import os
def solve(a, b):
    return a + b
os._exit(0)
