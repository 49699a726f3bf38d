# about: threads without end inside a call
# mode: fn
# wall: 2
# expect: exception|timeout|memory_limit
import threading, time
def solve(a, b):
    while True: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
