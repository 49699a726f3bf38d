# expect: exited
# mode: split
import sys
def solve(a,b): sys.exit(0)
