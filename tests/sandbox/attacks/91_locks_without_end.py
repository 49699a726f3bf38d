# about: locks take kernel memory that nothing counts: at some point there are no more
# expect: passed|timeout
# wall: 5
import errno, fcntl, struct
f = open('own', 'w+')
n = 0
while True:
    try: fcntl.fcntl(f, fcntl.F_SETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 10**9 - 2 * n, 1, 0))
    except OSError as e:
        assert e.errno == errno.ENOLCK
        break
    n += 1
