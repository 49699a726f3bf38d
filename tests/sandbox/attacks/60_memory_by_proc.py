# about: opens the memory of its parent, of a child and of its own for writing through /proc
# expect: passed
import os, subprocess
child = subprocess.Popen(['sleep', '20'])
wrote = []
for pid in (1, os.getppid(), os.getpid(), child.pid):
    for name in ('mem', 'task/%d/mem' % pid, 'clear_refs', 'oom_score_adj', 'coredump_filter'):
        for mode in (os.O_RDWR, os.O_WRONLY):
            try:
                os.close(os.open('/proc/%d/%s' % (pid, name), mode))
                wrote.append((pid, name))
            except OSError: pass
child.kill()
assert not wrote, wrote
