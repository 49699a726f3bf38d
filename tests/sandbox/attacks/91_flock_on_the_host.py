# about: flock on what the host has locks of its own on: files, folders and devices
# expect: passed
import fcntl, os, struct, errno
own = [p for p in ("/usr/bin/env", "/usr/lib", "/usr", "/etc/ld.so.cache", "/bin/sh", "/dev/null", "/dev/zero") if os.path.exists(p)]
def refused(what, *args):
    try: what(*args)
    except OSError: return
    assert False, args
for path in own:
    fd = os.open(path, os.O_RDONLY)
    for how in (fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_SH | fcntl.LOCK_NB, fcntl.LOCK_EX, fcntl.LOCK_SH): refused(fcntl.flock, fd, how)
