# about: opens and makes devices: only the harmless five open
# expect: passed
import os
opened = []
for d in ('mem', 'kmem', 'port', 'kmsg', 'fuse', 'kvm', 'net/tun', 'loop-control', 'loop0', 'sda', 'vda', 'ptmx', 'tty', 'console', 'mapper/control', 'snd/timer', 'dri/card0', 'uinput', 'vhost-net', 'autofs', 'rtc0', 'hpet'):
    for flags in (os.O_RDONLY, os.O_RDWR):
        try: os.close(os.open('/dev/' + d, flags)); opened.append(d)
        except OSError: pass
for major, minor in ((1, 1), (1, 2), (1, 3), (8, 0), (10, 200)):
    for kind in (0o020666, 0o060666):
        try: os.mknod('node-%d-%d-%o' % (major, minor, kind), kind, os.makedev(major, minor)); opened.append((major, minor))
        except OSError: pass
assert not opened, opened
