# about: lowers priority, processors and limits of its parent and of everybody; the harness looks the same afterwards
# expect: passed|crashed(SIGKILL)|timeout|crashed(SIGXCPU)
import os, resource
for pid in (os.getppid(), 1):
    for f in (lambda: os.setpriority(os.PRIO_PROCESS, pid, 19), lambda: os.setpriority(os.PRIO_PGRP, pid, 19),
              lambda: os.sched_setaffinity(pid, {0}), lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
              lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)), lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))):
        try: f()
        except (OSError, ValueError): pass
try: os.setpriority(os.PRIO_USER, os.getuid(), 19)
except OSError: pass
