# about: descriptors sent along with an answer go nowhere, or at least open nothing in the judge
# mode: split
# expect: forged|wrong_answer|exited
import array, os, socket, stat
def solve(a, b):
    for fd in range(3, 64):
        try:
            if not stat.S_ISSOCK(os.fstat(fd).st_mode): continue
            s = socket.socket(fileno=os.dup(fd))
            for _ in range(200):
                s.sendmsg([b'{"i": 1, "v": 99}\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))])
        except OSError: pass
    return a + b
