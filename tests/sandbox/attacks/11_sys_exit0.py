# expect: exited
# mode: inproc
import sys
sys.exit(0)
assert False
