# about: makes the shared stream non-blocking and asynchronous, with a signal for the other side
# mode: fn
# wall: 5
# expect: passed|exited|exception|timeout
import fcntl, os, signal
for fd in range(0, 64):
    for f in (lambda: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC | os.O_APPEND), lambda: fcntl.fcntl(fd, fcntl.F_SETOWN, os.getppid()),
              lambda: fcntl.fcntl(fd, 10, signal.SIGKILL), lambda: fcntl.fcntl(fd, 1031, 4096)):
        try: f()
        except OSError: pass
def solve(a, b): return a + b
