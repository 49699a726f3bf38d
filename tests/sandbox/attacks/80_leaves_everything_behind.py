# about: files, umask, priority, working folder, stopped children and orphans are left for the next job
# wall: 10
# expect: passed
# expect-landlock: passed|exception
import os, signal, time
for path in ('/tmp/left-behind', 'left-behind', '/dev/shm/left-behind', '/var/tmp/left-behind', '/left-behind', '/run/left-behind'):
    try: open(path, 'w').write('x')
    except OSError: pass
os.umask(0o777); os.nice(19); os.environ['LD_PRELOAD'] = '/tmp/left-behind'
for k in range(6):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        for s in range(1, 65):
            try: signal.signal(s, signal.SIG_IGN)
            except (OSError, ValueError): pass
        if k % 3 == 0: os.kill(os.getpid(), signal.SIGSTOP)
        if k % 3 == 1: os._exit(0)
        os.chdir('/')
        while True: time.sleep(100)
