# about: shuts its side for writing, so that the judge hears the end in place of answers
# mode: split
# expect: exited|forged
import os, socket, stat
def solve(a, b):
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): socket.socket(fileno=os.dup(fd)).shutdown(socket.SHUT_RDWR)
        except OSError: pass
    return a + b
