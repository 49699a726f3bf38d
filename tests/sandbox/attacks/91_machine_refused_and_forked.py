# about: refused calls of processes that are ended or leave while they wait for the answer
# expect: passed
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
for i in range(60):
    pid = os.fork()
    if pid == 0:
        while True: libc.inotify_init1(0)
    if i % 3: os.sched_yield()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for _ in range(300): assert libc.inotify_init1(0) == -1
signal.setitimer(signal.ITIMER_REAL, 0)
