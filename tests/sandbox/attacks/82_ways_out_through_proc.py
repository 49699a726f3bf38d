# about: the roots and working folders of processes that it sees lead nowhere outside
# expect: passed
import os
for pid in ['self', 'thread-self', '1', str(os.getppid())] + [str(n) for n in range(2, 40)]:
    for link in ('root', 'cwd'):
        for path in ('/etc/shadow', '/../etc/shadow', '@BAIT@', '/var/lib', '/home'):
            p = '/proc/%s/%s%s' % (pid, link, path)
            try: open(p).read()
            except OSError: pass
            else: assert False, p
