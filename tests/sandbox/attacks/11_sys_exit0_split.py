# expect: exited
# mode: split
import sys
sys.exit(0)
