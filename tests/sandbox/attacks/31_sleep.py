# expect: timeout
# wall: 1
# mode: script
import time
time.sleep(1000)
