# about: locks of open file descriptions on files of the host
# expect: passed
import fcntl, os, struct, errno
own = [p for p in ("/usr/bin/env", "/usr/lib", "/usr", "/etc/ld.so.cache", "/bin/sh", "/dev/null", "/dev/zero") if os.path.exists(p)]
def refused(what, *args):
    try: what(*args)
    except OSError: return
    assert False, args
for path in own:
    if os.path.isdir(path): continue
    fd = os.open(path, os.O_RDONLY)
    for command in (37, 38): refused(fcntl.fcntl, fd, command, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 0, 0))
