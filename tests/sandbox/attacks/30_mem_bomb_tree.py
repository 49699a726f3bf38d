# expect: memory_limit|exception
# mode: script
# wall: 20
import os, time
for _ in range(12):
    if os.fork() == 0:
        x = bytearray(100 * 10**6)
        time.sleep(1000)
time.sleep(1000)
