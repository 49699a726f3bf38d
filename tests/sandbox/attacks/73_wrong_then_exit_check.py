# about: ends with 0 from within the call, in the interpreter of the tests
# mode: check
# expect: exited
import sys
def solve(a, b): sys.exit(0)
