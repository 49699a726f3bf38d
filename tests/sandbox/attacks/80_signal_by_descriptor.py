# about: F_SETOWN and F_SETSIG make the kernel send SIGKILL to its parent, past any filter on kill
# expect: passed|exception|crashed(SIGKILL)
import fcntl, os
for target in (os.getppid(), 1, -os.getppid()):
    r, w = os.pipe()
    try:
        fcntl.fcntl(r, fcntl.F_SETOWN, target)
        fcntl.fcntl(r, 10, 9)
        fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    except OSError: continue
    os.write(w, b'x')
