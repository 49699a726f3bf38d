# about: locks and leases on files that the host uses too
# expect: passed
import fcntl, os
try: fcntl.fcntl(os.open('/usr/bin/env', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK); taken = True
except OSError: taken = False
assert not taken
