# expect: passed
# expect-landlock: passed|exception
# mode: script
import os
open("/dev/shm/left-behind", "w").write("x")
