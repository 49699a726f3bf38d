# The fork server: a warm interpreter inside a cell that forks a process per job. It holds CAP_SYS_ADMIN over the cell's
# own user namespace, which every job gives up before it starts. It never reads what a job is about: that travels
# by descriptor to the fork, so nothing of one job is in memory when the next is forked.
#
# Asked through a socket of messages: `J`, then the limits (seconds of CPU time, bytes of
# data, bytes of a file, processes, open files, bytes of address space), then per process its runner and its number of descriptors, which come
# along: request, stdout, stderr, and whatever becomes 4, 5, ...; for a script stdin stands before stdout.
# Answers: `S<index>` with two pidfds, of its own and of the first of its namespace, from each process once it is shut in, or `F<index> <reason>`; at its end
# `X<index> <wait status> <cpu us> <max rss KiB>`.
import sys, builtins, gc, marshal, posix, _signal, _sitebuiltins, _socket, resource, ctypes

# A script's own `import` of these must find what it would have found: none has submodules that nobody asked for, none
# holds random state or starts a thread.
PRELOADED = ('os', 'math', 're', 'typing', 'collections', 'itertools', 'functools', 'heapq', 'bisect', 'operator', 'string',
    'copy', 'traceback', 'dataclasses', 'datetime', 'atexit', 'warnings', 'numbers', '_random', '_sha512')
NULL, SOCKET = 3, 9            # 4 to 8 are filled while jobs are taken, so that what comes lies above every place it goes to
NEWNS, NEWPID = 0x20000, 0x20000000
SHARING, SIGCHLD, SIGKILL = 0x700, 17, 9      # CLONE_VM, CLONE_FS, CLONE_FILES
CLOSE_RANGE, PIDFD_OPEN = 436, 434     # the same numbers on every architecture

libc = ctypes.PyDLL(None, use_errno=True)      # PyDLL: calls keep the interpreter's lock, so they cost little

class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]

def checked(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result

def pidfd_of(pid):
    return checked(libc.syscall(PIDFD_OPEN, pid, 0), 'pidfd_open')

# ---- everything that a job needs and that is the same for all
NAMESPACES = SETTINGS['namespaces']
FOLDER = SETTINGS['folder'].encode()
# What a job's own /tmp hides: where it stands again, and where it shall stand; and the folders to make for that.
BELOW_TMP = [(source.encode(), target.encode()) for source, target in SETTINGS['below_tmp']]
PARENTS = list(dict.fromkeys(b'/'.join(t.split(b'/')[:n]) for _, t in BELOW_TMP for n in range(3, t.count(b'/') + 2)))
_bytes = bytes.fromhex(SETTINGS['filter'])
_filter = ctypes.create_string_buffer(_bytes, len(_bytes))
_program = Program(len(_bytes) // 8, ctypes.addressof(_filter))
FILTER = ctypes.byref(_program)
_header = (ctypes.c_uint32 * 2)(0x20080522, 0)
_none = (ctypes.c_uint32 * 6)()
HEADER, NONE = ctypes.byref(_header), ctypes.byref(_none)
LAST = ctypes.c_uint(0xffffffff)
# The first process of a namespace is immune to signals from inside, and all others end with it. So that the program need not
# be it, it is one that only waits: it shares our memory and descriptors, which makes it cheap, and runs nothing but this call.
PAUSE = ctypes.cast(libc.pause, ctypes.c_void_p)
_stack = ctypes.create_string_buffer(1 << 14)
STACK = ctypes.c_void_p((ctypes.addressof(_stack) + (1 << 14)) & ~0xff)
KINDS = ((resource.RLIMIT_CPU, 1), (resource.RLIMIT_DATA, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NPROC, 0), (resource.RLIMIT_NOFILE, 0),
    (resource.RLIMIT_AS, 0))
# A limit that somebody lowered before us can't be raised.
MOST = [resource.getrlimit(kind)[1] for kind, _ in KINDS]
for _kind, _value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_MEMLOCK, 0), (resource.RLIMIT_MSGQUEUE, 0), (resource.RLIMIT_SIGPENDING, 256)):
    _most = resource.getrlimit(_kind)[1]
    _value = _value if _most < 0 else min(_value, _most)
    resource.setrlimit(_kind, (_value, _value))

def isolate():
    # What shuts the forked child in, before it has read anything.
    if NAMESPACES:
        checked(libc.unshare(NEWNS), 'unshare')
        checked(libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 6, FOLDER), 'mount /tmp')
        for folder in PARENTS:
            posix.mkdir(folder)
        for source, target in BELOW_TMP:
            checked(libc.mount(source, target, None, 0x5000, None), 'mount a folder below /tmp')     # MS_BIND, MS_REC
        libc.mount(b'proc', b'/proc', b'proc', 15, b'subset=pid,hidepid=invisible')     # read-only; programs that need it fail in their own words
        posix.chdir('/tmp')
    else:
        raise OSError(38, 'no isolation without namespaces')
    posix.setsid()

def restrict(limits):
    for (kind, more), value, most in zip(KINDS, limits, MOST):
        hard = value + more
        if 0 <= most < hard:
            hard = most
        resource.setrlimit(kind, (min(value, hard), hard))
    libc.prctl(47, 4, 0, 0, 0)         # no ambient capabilities
    checked(libc.capset(HEADER, NONE), 'capset')
    checked(libc.prctl(22, 2, FILTER, 0, 0), 'seccomp')
    libc.prctl(4, 1, 0, 0, 0)          # dumpable again: its own /proc is its own

def become(kind, fds, limits, index):
    # Makes the forked child a job; what it is about can be read from descriptor 3 afterwards.
    try:
        posix.close(0)
        if kind == 'script':
            posix.dup2(fds.pop(1), 0)
        else:
            libc.open(b'/dev/null', 2)         # becomes 0; one of its own, because flags are shared with it
        posix.dup2(fds[1], 1)
        posix.dup2(fds[2], 2)
        posix.dup2(fds[0], 3, False)
        for place, fd in enumerate(fds[3:], 4):
            posix.dup2(fd, place, False)
        isolate()
        restrict(limits)
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        pidfds = [pidfd_of(posix.getpid())]
        if NAMESPACES:
            pidfds.append(pidfd_of(1))
        pidfds = b''.join([fd.to_bytes(4, sys.byteorder) for fd in pidfds])
        sock.sendmsg([b'S%d' % index], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, pidfds)])
        checked(libc.syscall(CLOSE_RANGE, len(fds) + 1, LAST, 0), 'close_range')
        sock.detach()
    except BaseException as e:
        try:
            sock.send(b'F%d %s' % (index, str(e).encode('utf-8', 'replace')[:80]))
        finally:
            posix._exit(98)

def read_request():
    parts = []
    while True:
        part = posix.read(3, 1 << 20)
        if not part:
            posix.close(3)
            return parts[0] if len(parts) == 1 else b''.join(parts)
        parts.append(part)

def serve():
    # Forks for ever. Returns, with the kind of its runner, only in a forked child.
    ancillary = _socket.CMSG_SPACE(4 * 32)
    while True:
        data, control, _, _ = sock.recvmsg(512, ancillary, 0x40000000)
        if not data:
            posix._exit(0)
        fds = [fd for _, _, data_of in control for fd in memoryview(data_of).cast('i').tolist()]
        words = data.decode().split()
        limits = [int(word) for word in words[1:7]]
        left, taken = {}, 0
        for index, (kind, count) in enumerate(zip(words[7::2], words[8::2])):
            mine = fds[taken:taken + int(count)]
            taken += len(mine)
            first = None
            try:
                if NAMESPACES:
                    checked(libc.unshare(NEWPID), 'unshare')
                    first = checked(libc.clone(PAUSE, STACK, SHARING | SIGCHLD, None), 'clone')
                pid = posix.fork()
                if pid == 0:
                    become(kind, mine, limits, index)
                    return kind
                left[pid] = index, first
                if NAMESPACES:
                    checked(libc.setns(SELF, NEWPID), 'setns')
            except OSError as e:
                # Whoever asked ends this server, which is not what it should be any more.
                sock.send(b'F%d %s' % (index, str(e).encode()[:80]))
        libc.syscall(CLOSE_RANGE, SOCKET + 1, SELF - 1, 0)
        while left:
            pid, status, usage = posix.wait4(-1, 0)
            if pid not in left:
                continue
            index, first = left.pop(pid)
            if first is not None:
                # Whatever else the job has started ends with the first of its namespace.
                posix.kill(first, SIGKILL)
                posix.waitpid(first, 0)
            cpu = int((usage.ru_utime + usage.ru_stime) * 1e6)
            sock.send(b'X%d %d %d %d' % (index, status, cpu, usage.ru_maxrss))

# ---- programs

def exit_code(e):
    # As the interpreter ends on SystemExit.
    code = e.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xff if -(1 << 63) <= code < 1 << 63 else 0xff
    try:
        sys.stdout.flush()
        sys.stderr.write(str(code) + '\n')
    except BaseException:
        pass
    return 1

def report(e):
    # An exception that nobody caught, without our own frames.
    tb = e.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename == '<server>':
        tb = tb.tb_next
    e.__traceback__ = tb
    if isinstance(e, SystemExit):
        return exit_code(e)
    try:
        sys.excepthook(type(e), e, tb)
    except SystemExit as other:
        return exit_code(other)
    except BaseException as other:
        try:
            sys.stderr.write('Error in sys.excepthook:\n')
            sys.__excepthook__(type(other), other, other.__traceback__)
            sys.stderr.write('\nOriginal exception was:\n')
            sys.__excepthook__(type(e), e, tb)
        except BaseException:
            pass
    if isinstance(e, KeyboardInterrupt):
        return 130
    return 1

def end_program(g, status):
    # What the interpreter does at its end, as far as a program can see it.
    try:
        threading = sys.modules.get('threading')
        if threading is not None:
            threading._shutdown()
    except BaseException as e:
        report(e)
    atexit = sys.modules.get('atexit')
    try:
        if atexit is not None:
            atexit._run_exitfuncs()
    except BaseException as e:
        report(e)
    status = flush(status)
    try:
        # Objects of the program may have something to say when they go: first names with one underscore, as it does.
        for private in (True, False):
            for name in list(g):
                if name != '__builtins__' and (name[:1] == '_' and name[1:2] != '_') is private:
                    g[name] = None
        gc.collect()
    except BaseException as e:
        report(e)
    posix._exit(flush(status))

def flush(status):
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, 'closed', False):
                stream.flush()
        except BaseException as e:
            if stream is sys.stdout:
                status = 120
                try:
                    sys.stderr.write('Exception ignored in: %r\n%s: %s\n' % (stream, type(e).__name__, e))
                except BaseException:
                    pass
    return status

def new_main(source):
    # The module and the file of a program.
    fd = posix.open('main.py', posix.O_WRONLY | posix.O_CREAT | posix.O_CLOEXEC, 0o644)
    rest = source
    while rest:
        rest = rest[posix.write(fd, rest):]
    posix.close(fd)
    module = type(sys)('__main__')
    g = module.__dict__
    g.update(__builtins__=builtins, __file__='main.py', __cached__=None, __annotations__={})
    sys.modules['__main__'] = module
    sys.path.insert(0, '/tmp')
    sys.argv[:] = ['main.py']
    for name in ('exit', 'quit'):      # of `site`, which is not loaded
        setattr(builtins, name, _sitebuiltins.Quitter(name, 'Ctrl-D (EOF)'))
    return g

# ---- getting warm

def warm_up():
    for name in PRELOADED:
        try:
            __import__(name)
        except Exception:
            pass
    g = {'__name__': 'warm'}
    exec(compile(WARM, 'warm.py', 'exec', dont_inherit=True), g)
    import traceback
    for text in ('def q():\n  raise ValueError(1)\nq()', 'def ('):
        try:
            exec(compile(text, 'warm.py', 'exec', dont_inherit=True), {})
        except Exception as e:
            ''.join(traceback.format_exception(type(e), e, e.__traceback__))
    import linecache
    linecache.clearcache()
    candidate = RUNNERS['candidate'].__globals__
    g = {'f': lambda a, b: [a, {'k': (b, 1.5)}]}
    request = b'{"i": 0, "f": "f", "a": [[1, "x"], {"$tuple": [1, null]}], "k": {}}\n'
    for _ in range(3):
        candidate['to_json'](candidate['answer'](g, [], candidate['from_json'](request)))
    sys.modules.pop('warm', None)

WARM = '''
import sys, math
from typing import List, Dict, Tuple, Optional, Any
class A:
    def __init__(self, x: int = 1): self.x = x
    @property
    def y(self): return f"{self.x:>3}" + '%s' % self.x
def f(a: List[int], *b, k=None, **kw) -> Optional[Dict[str, Any]]:
    try: return {i: [j for j in range(i) if j % 2] for i in a}
    except (ValueError, KeyError) as e: raise RuntimeError from e
    finally: pass
def g(n):
    while n > 0:
        n -= 1
        yield n
x = sorted(g(5), key=lambda v: -v); assert f([1, 2]) and A().y and x == [4, 3, 2, 1, 0] and not {1} & {2}
with open('/dev/null') as h: h.read()
def check(candidate):
    assert candidate([1.0, 2.0], 0.3) == True
    assert not candidate("abc", k=-1) and candidate(())[0] is None, "text"
'''

sys.path[:] = [p for p in sys.path if p] + SETTINGS['site']
RUNNERS = {}
for _name, _code in SETTINGS['runners'].items():
    _g = {'__name__': 'runner', '__builtins__': builtins}
    exec(marshal.loads(bytes.fromhex(_code)), _g)
    RUNNERS[_name] = _g['main']
warm_up()
libc.prctl(4, 0, 0, 0, 0)              # nobody looks into this process
# A job may send this to the first process of its namespace, whose handler would be ours.
_signal.signal(_signal.SIGINT, _signal.SIG_IGN)
_null = posix.open('/dev/null', posix.O_RDWR | posix.O_CLOEXEC)
posix.dup2(3, SOCKET, False)
for _fd in range(NULL, SOCKET):
    if _fd != _null:
        posix.dup2(_null, _fd, False)
if _null >= SOCKET:
    posix.close(_null)
SELF = 99
posix.dup2(pidfd_of(posix.getpid()), SELF, False)
libc.syscall(CLOSE_RANGE, SOCKET + 1, SELF - 1, 0)
sock = _socket.socket(fileno=SOCKET)
sys.modules['__main__'].__dict__.clear()
del SETTINGS, _code, _bytes, _g
gc.collect()
gc.freeze()
sock.send(b'R')

kind = serve()
request = read_request()
if kind == 'script':
    # Here and not in a function, so that a program may go almost as deep as it could alone.
    status, g = 0, new_main(request)
    try:
        exec(compile(request, 'main.py', 'exec', dont_inherit=True), g)
    except BaseException as e:
        status = report(e)
        e = None
    end_program(g, status)
else:
    RUNNERS[kind](request)
    posix._exit(97)
