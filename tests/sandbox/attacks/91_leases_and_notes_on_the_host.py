# about: leases and notes of changes on files of the host
# expect: passed
import fcntl, os, struct, errno
own = [p for p in ("/usr/bin/env", "/usr/lib", "/usr", "/etc/ld.so.cache", "/bin/sh", "/dev/null", "/dev/zero") if os.path.exists(p)]
def refused(what, *args):
    try: what(*args)
    except OSError: return
    assert False, args
for path in own:
    fd = os.open(path, os.O_RDONLY)
    for command, how in ((fcntl.F_SETLEASE, fcntl.F_RDLCK), (fcntl.F_NOTIFY, 1)): refused(fcntl.fcntl, fd, command, how)
