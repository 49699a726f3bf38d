# about: flock on files of the host that have a name in the own folder
# expect: passed
import fcntl, os, struct, errno
own = [p for p in ("/usr/bin/env", "/usr/lib", "/usr", "/etc/ld.so.cache", "/bin/sh", "/dev/null", "/dev/zero") if os.path.exists(p)]
def refused(what, *args):
    try: what(*args)
    except OSError: return
    assert False, args
os.symlink('/usr/bin/env', 'mine')
refused(fcntl.flock, os.open('mine', os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
try: fd = os.open('@BAIT@', os.O_RDONLY)
except OSError: fd = None
if fd is not None: refused(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
r, w = os.pipe()
for one in (r, w, 0, 1, 2): refused(fcntl.flock, one, fcntl.LOCK_EX | fcntl.LOCK_NB)
