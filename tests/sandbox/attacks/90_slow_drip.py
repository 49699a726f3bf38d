# about: a little output for ever
# wall: 1
# expect: timeout
import time
while True:
    print('.', end='', flush=True)
    time.sleep(0.02)
