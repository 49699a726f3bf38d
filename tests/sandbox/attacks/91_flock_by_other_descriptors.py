# about: flock by a duplicate, a reopened and an inherited descriptor
# expect: passed
import fcntl, os, struct, errno
own = [p for p in ("/usr/bin/env", "/usr/lib", "/usr", "/etc/ld.so.cache", "/bin/sh", "/dev/null", "/dev/zero") if os.path.exists(p)]
def refused(what, *args):
    try: what(*args)
    except OSError: return
    assert False, args
fd = os.open('/usr/bin/env', os.O_RDONLY)
again = [os.dup(fd), os.dup2(fd, 77)]
try: again.append(os.open('/proc/self/fd/%d' % fd, os.O_RDONLY))
except OSError: pass
for one in again: refused(fcntl.flock, one, fcntl.LOCK_EX | fcntl.LOCK_NB)
pid = os.fork()
if pid == 0:
    try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError: os._exit(0)
    os._exit(1)
assert os.waitpid(pid, 0)[1] == 0
