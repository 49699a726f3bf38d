# about: locks on files of the own folder work: between processes, of SQLite, and without waiting
# expect: passed
import fcntl, os, sqlite3, struct
f = open('lock', 'w')
fcntl.flock(f, fcntl.LOCK_EX)
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    g = open('lock', 'w')
    try: fcntl.flock(g, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError: os.write(w, b'held')
    fcntl.flock(g, fcntl.LOCK_EX)
    os.write(w, b' got')
    os._exit(0)
assert os.read(r, 4) == b'held'
fcntl.flock(f, fcntl.LOCK_UN)
assert os.read(r, 4) == b' got'
os.waitpid(pid, 0)
fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
fcntl.fcntl(f, 37, struct.pack('hhqqi4x', fcntl.F_UNLCK, 0, 0, 0, 0))
for mode in ('delete', 'wal'):
    c = sqlite3.connect(mode + '.db')
    c.execute('pragma journal_mode=' + mode)
    c.execute('create table t(a)')
    for i in range(20):
        with c: c.execute('insert into t values(?)', (i,))
    assert c.execute('select sum(a) from t').fetchone() == (190,)
    c.close()
