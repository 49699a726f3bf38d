# expect: passed
# mode: script
import os
open("/dev/shm/left-behind", "w").write("x")
