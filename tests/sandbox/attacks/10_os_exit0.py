# expect: exited
# mode: inproc
import os
os._exit(0)
assert False
