# about: makes its streams asynchronous and non-blocking, which a shared description would hand on to later jobs
# expect: passed
import fcntl, os
for fd in (0, 1, 2):
    try: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
    except OSError: pass
