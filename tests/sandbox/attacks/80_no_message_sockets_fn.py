# about: looks for control sockets among its descriptors: there may be streams and pipes only, and no more than a few
# mode: fn
# expect: passed
import os, socket, stat
def solve(a, b):
    found = []
    for fd in range(3, 1024):
        try: mode = os.fstat(fd).st_mode
        except OSError: continue
        found.append(fd)
        if stat.S_ISSOCK(mode):
            s = socket.socket(fileno=os.dup(fd))
            assert s.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_STREAM, fd
            s.close()
        assert not stat.S_ISDIR(mode) and not stat.S_ISCHR(mode), fd
    assert len(found) <= 4, found
    return a + b
