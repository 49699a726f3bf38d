# about: the same towards the harness, whose descriptors must not grow
# mode: fn
# expect: forged|wrong_answer
import array, os, socket, stat
def solve(a, b):
    for fd in range(3, 64):
        try:
            if not stat.S_ISSOCK(os.fstat(fd).st_mode): continue
            s = socket.socket(fileno=os.dup(fd))
            for _ in range(100):
                s.sendmsg([b'{"i": 0, "v": 99}\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2] * 80))])
        except OSError: pass
    return a + b
