# expect: timeout|exception|passed|memory_limit
# expect-landlock: timeout|exception|passed|memory_limit|sandbox_violation
# wall: 1
# mode: script
import os
while True: os.fork()
