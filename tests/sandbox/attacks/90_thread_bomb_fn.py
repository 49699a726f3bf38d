# about: threads without end inside a call
# mode: fn
# wall: 2
# expect: exception|timeout|memory_limit
# expect-landlock: exception|timeout|memory_limit|sandbox_violation
import threading, time
def solve(a, b):
    while True: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
