# about: a set whose members all hash alike keeps the judge busy; that time is the candidate's
# mode: split
# wall: 2
# expect: timeout|forged|output_limit|wrong_answer|exited
import os, stat
def solve(a, b):
    m = (1 << 61) - 1
    items = ','.join('{"$int":"%#x"}' % (k * m) for k in range(1, 100000))
    line = ('{"i": 1, "v": {"$set": [%s]}}\n' % items).encode()
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                while line: line = line[os.write(fd, line):]
        except OSError: pass
    return 0
