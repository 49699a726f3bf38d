# about: as many unreaped children as are allowed, and no end of trying
# wall: 5
# expect: passed|exception
# expect-landlock: passed|exception|sandbox_violation
import os
n = 0
for _ in range(5000):
    try:
        if os.fork() == 0: os._exit(0)
        n += 1
    except OSError: break
assert n < 5000, n
