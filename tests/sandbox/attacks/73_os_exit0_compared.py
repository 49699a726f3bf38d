# about: ends with 0 at once, inside the call
# mode: compared
# expect: exited
import os
def solve(a, b): os._exit(0)
