# about: modes of files of the host, by descriptors of them and of their folders
# expect: passed
import os
def attempt(what, *args):
    try: what(*args)
    except OSError: pass
for path in ('@BAIT@', os.path.dirname('@BAIT@'), '/usr', '/usr/bin/env', '/dev/null'):
    for flags in (os.O_RDONLY, os.O_PATH):
        try: fd = os.open(path, flags)
        except OSError: continue
        attempt(os.fchmod, fd, 0o600)
        attempt(os.chmod, '/proc/self/fd/%d' % fd, 0o600)
        attempt(os.chmod, 'bait', 0o600) if not os.path.isdir(path) else attempt(lambda: os.chmod('bait', 0o600, dir_fd=fd))
