# about: opens such a file for its path only and goes on from there
# expect: passed
import os
try: fd = os.open('@BAIT@', os.O_PATH)
except OSError: fd = -1
if fd >= 0:
    done = []
    for f in (lambda: os.chmod('/proc/self/fd/%d' % fd, 0o7777), lambda: os.utime('/proc/self/fd/%d' % fd, (1, 1)), lambda: open('/proc/self/fd/%d' % fd, 'r+'),
              lambda: os.link('/proc/self/fd/%d' % fd, 'hard', follow_symlinks=True), lambda: os.fchmod(fd, 0o7777)):
        try: f(); done.append(f)
        except OSError: pass
    assert not done, done
