# about: a child in the midst of a huge exit, and one that others wait for, at the end of the job
# wall: 10
# expect: passed|exception|memory_limit
import os, time
if os.fork() == 0:
    held = bytearray(100 << 20)
    os.vfork() if hasattr(os, 'vfork') else None
    time.sleep(1000)
time.sleep(0.1)
