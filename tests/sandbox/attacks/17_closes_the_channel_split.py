# expect: exited
# mode: split
import os
def solve(a, b):
    os.closerange(3, 200)
    import time
    time.sleep(1000)
