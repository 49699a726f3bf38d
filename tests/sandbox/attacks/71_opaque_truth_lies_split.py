# about: calls its answer an object that is true: a comparison with it can't be known, so it holds not
# mode: split
# expect: wrong_answer|forged
import os
n = 0
def solve(a, b):
    global n; n += 1
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": %d, "v": {"$opaque": "Match", "truth": true, "only_truth": true}}\n' % n)
        except OSError: pass
    return a + b
