# about: ends with 0 before the asserts
# mode: compared
# expect: exited
import sys
sys.exit(0)
