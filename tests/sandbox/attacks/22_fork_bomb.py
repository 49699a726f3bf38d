# expect: timeout|exception|passed|memory_limit
# wall: 1
# mode: script
import os
while True: os.fork()
