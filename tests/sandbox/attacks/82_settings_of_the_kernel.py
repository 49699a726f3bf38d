# about: writes to /proc/sys, /proc/sysrq-trigger, /sys and the cgroups
# expect: passed
import os
targets = ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sysrq-trigger', '/proc/sys/vm/drop_caches', '/proc/sys/fs/binfmt_misc/register',
    '/proc/1/oom_score_adj', '/proc/%d/oom_score_adj' % os.getppid(), '/proc/self/uid_map', '/proc/self/setgroups', '/sys/kernel/uevent_helper', '/sys/power/state',
    '/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/memory/tasks', '/sys/fs/cgroup/pids/tasks', '/sys/kernel/debug/x', '/proc/sys/kernel/hostname']
wrote = []
for t in targets:
    try:
        with open(t, 'w') as f: f.write('0')
        wrote.append(t)
    except OSError: pass
assert not wrote, wrote
