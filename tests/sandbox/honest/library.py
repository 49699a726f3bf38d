import asyncio, concurrent.futures, ctypes, fcntl, gzip, mmap, multiprocessing, os, pwd, queue, random, resource
import select, selectors, shelve, shutil, signal, socket, sqlite3, subprocess, sys, tarfile, tempfile, threading, time, zipfile

def square(x):
    return x * x

def threads():
    done = queue.Queue()
    workers = [threading.Thread(target=lambda n=n: done.put(n)) for n in range(8)]
    for t in workers: t.start()
    for t in workers: t.join()
    assert sorted(done.get() for _ in range(8)) == list(range(8))
    with concurrent.futures.ThreadPoolExecutor(4) as pool: assert list(pool.map(square, range(5))) == [0, 1, 4, 9, 16]

def processes():
    r, w = multiprocessing.Pipe()
    child = multiprocessing.get_context('fork').Process(target=lambda: w.send(square(7)))
    child.start()
    assert r.recv() == 49
    child.join()
    assert subprocess.run(['cat'], input=b'x', capture_output=True).stdout == b'x'
    assert subprocess.run('echo a | tr a b', shell=True, capture_output=True, text=True).stdout == 'b\n'
    pid = os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 3'], {})
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED)

async def loop():
    async def half(x):
        await asyncio.sleep(0.001)
        return x / 2
    assert await asyncio.gather(*(half(i) for i in range(4))) == [0, 0.5, 1, 1.5]
    child = await asyncio.create_subprocess_exec('echo', 'hi', stdout=asyncio.subprocess.PIPE)
    assert (await child.communicate())[0] == b'hi\n'
    assert await asyncio.get_running_loop().run_in_executor(None, square, 4) == 16
    await asyncio.wait_for(asyncio.Event().wait() if False else asyncio.sleep(0), 5)

def files():
    folder = tempfile.mkdtemp()
    name = os.path.join(folder, 'a')
    with open(name, 'w+b') as f:
        f.truncate(8192)
        with mmap.mmap(f.fileno(), 8192) as m: m[:3] = b'abc'
        fcntl.flock(f, fcntl.LOCK_EX)
        fcntl.lockf(f, fcntl.LOCK_EX)
        os.posix_fallocate(f.fileno(), 0, 100)
        os.fsync(f.fileno())
        os.pwrite(f.fileno(), b'z', 5)
    os.symlink('a', folder + '/link')
    os.link(name, folder + '/hard')
    os.rename(folder + '/hard', folder + '/b')
    os.chmod(name, 0o700)
    os.mkfifo(folder + '/fifo')
    assert os.stat(name).st_nlink == 2 and os.path.realpath(folder + '/link') == os.path.realpath(name)
    os.statvfs(folder), os.listdir(folder), list(os.scandir(folder)), os.access(name, os.R_OK)
    os.remove(folder + '/fifo')
    with zipfile.ZipFile(folder + '/z.zip', 'w') as z: z.write(name, 'a')
    with tarfile.open(folder + '/t.tgz', 'w:gz') as t: t.add(name, 'a')
    with gzip.open(folder + '/g.gz', 'wb') as g: g.write(b'x' * 100)
    with shelve.open(folder + '/shelf') as shelf: shelf['a'] = 1
    for mode in ('delete', 'wal'):
        db = sqlite3.connect(folder + '/' + mode)
        db.execute('pragma journal_mode=' + mode)
        db.execute('create table t(a)')
        with db: db.executemany('insert into t values(?)', [(i,) for i in range(100)])
        assert db.execute('select sum(a) from t').fetchone() == (4950,)
        db.close()
    shutil.rmtree(folder)

def kernel():
    a, b = socket.socketpair()
    selector = selectors.DefaultSelector()
    selector.register(b, selectors.EVENT_READ)
    a.send(b'x')
    assert selector.select(5) and b.recv(1) == b'x'
    poll = select.poll()
    poll.register(a, select.POLLOUT)
    assert poll.poll(0)
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while not seen: time.sleep(0.01)
    resource.getrusage(resource.RUSAGE_SELF), resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.getloadavg(), os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0), os.times(), os.getgroups(), os.urandom(4)
    random.SystemRandom().random()
    ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)()
    try: pwd.getpwuid(os.getuid())
    except KeyError: pass

threads()
processes()
asyncio.run(loop())
files()
kernel()
print('well')
