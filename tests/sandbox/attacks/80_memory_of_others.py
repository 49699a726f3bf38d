# about: opens memory, environment and descriptors of every process that it sees: only its own open
# expect: passed
import os
me, opened = os.getpid(), []
for pid in set([os.getppid(), 1] + [n for n in range(2, 40)]) - {me, 0}:
    for what, mode in (('mem', 'r+b'), ('mem', 'rb'), ('environ', 'rb'), ('maps', 'rb')):
        try:
            if open('/proc/%d/%s' % (pid, what), mode).read(1): opened.append((pid, what))
        except OSError: pass
    for what in ('fd', 'root', 'cwd', 'exe'):
        try: os.listdir('/proc/%d/%s' % (pid, what)); opened.append((pid, what))
        except OSError: pass
assert not opened, opened
