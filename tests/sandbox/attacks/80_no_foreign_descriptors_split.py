# about: the candidate has one stream to the judge and nothing of the judge's own
# mode: split
# expect: passed
import os, stat
def solve(a, b):
    kinds = []
    for fd in range(3, 1024):
        try: kinds.append((fd, oct(os.fstat(fd).st_mode), os.readlink('/proc/self/fd/%d' % fd)))
        except OSError: pass
    streams = {k[2] for k in kinds if 'socket' in k[2]}
    assert len(streams) <= 1 and not [k for k in kinds if 'pipe' in k[2] or 'pidfd' in k[2] or 'memfd' in k[2]], kinds
    return a + b
