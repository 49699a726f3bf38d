# about: a set of lists breaks the judge's decoding, which is the candidate's doing
# mode: split
# expect: forged
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 1, "v": {"$set": [[1], {"a": 1}]}}\n')
        except OSError: pass
    return a + b
