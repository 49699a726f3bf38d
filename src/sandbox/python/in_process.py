# Runs a candidate and the tests in one interpreter, for tests that need the candidate's own classes or share more than plain
# data with it. A program that merely ends early is caught, and so is one that replaces what tests compare by or returns objects
# with an equality of its own; one that looks for the token in this process' memory is not, and the report says so.
import posix

write, leave, getpid = posix.write, posix._exit, posix.getpid

def out(verdict, **more):
    if getpid() != ME:
        leave(1)
    b = to_json(dict(more, token=TOKEN, verdict=verdict, calls=0)).encode() + b'\n'
    while b:
        b = b[write(4, b):]
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        leave(0)

def describe(e):
    t = type(e)
    r = {'type': str(t.__name__), 'mro': [str(c.__name__) for c in t.__mro__][:8], 'message': '?', 'traceback': ''}
    try:
        r['message'] = str(e)[:2000].encode('utf-8', 'replace').decode()
    except BaseException:
        pass
    if isinstance(e, SystemExit):
        r['code'] = e.code if type(e.code) is int else (0 if e.code is None else 1)
    return r

def frames(e):
    tb = e.__traceback__
    while tb is not None:
        yield tb.tb_frame.f_code.co_filename, tb.tb_lineno
        tb = tb.tb_next

def awaited(f):
    import functools
    @functools.wraps(f)
    def call(*a, **k):
        import asyncio
        return asyncio.run(f(*a, **k))
    return call

# -- what the tests rest on

def rested_on(tests):
    # What tests call and compare by, as it is before the candidate's program runs.
    owners = [builtins]
    if any('unittest' in t for t in tests):
        import unittest
        owners += [unittest, unittest.TestCase, unittest.TestResult, unittest.TestSuite, unittest.TestLoader, unittest.TextTestRunner]
    return [(owner, dict(vars(owner))) for owner in owners]

def replaced(rests):
    for owner, before in rests:
        now = vars(owner)
        for name, value in before.items():
            # The interpreter writes a result that is displayed to `_`.
            if name not in ('_', '__dict__', '__weakref__') and now.get(name, rests) is not value:
                yield owner, name, value

def restore(rests):
    for owner, name, value in list(replaced(rests)):
        try:
            setattr(owner, name, value)
        except (AttributeError, TypeError):
            pass

MOST_LOOKED_AT = 1000

def equality_of_its_own(x, left, depth=0):
    # The type of an object, or of a part of a container, that says by the candidate's code what it equals, or equals anything.
    t = type(x)
    left[0] -= 1
    if x is None or t in (bool, int, float, complex, str, bytes) or left[0] < 0 or depth > 5:
        return None
    if t in (list, tuple, set, frozenset, deque):
        parts = x
    elif t in (dict, OrderedDict, defaultdict):
        parts = list(x.keys()) + list(x.values())
    else:
        for c in t.__mro__:
            for name in ('__eq__', '__ne__'):
                code = getattr(c.__dict__.get(name), '__code__', None)
                if code is not None and code.co_filename == 'solution.py':
                    return t
        try:
            return t if (x == object()) is True and (x == object()) is True else None
        except Exception:
            return None
    for part in parts:
        found = equality_of_its_own(part, left, depth + 1)
        if found is not None:
            return found
    return None

def guarded(f):
    import functools
    @functools.wraps(f)
    def call(*a, **k):
        x = f(*a, **k)
        t = equality_of_its_own(x, [MOST_LOOKED_AT])
        if t is not None:
            out('opaque', kind=str(t.__name__)[:200])
        return x
    return call

def prepare(g, request):
    # What the tests take from the program, and nothing that it put in the place of what they have from elsewhere.
    for name in request['builtins']:
        if callable(g.get(name)) and name != request['entry']:
            out('unsound', why='the code defines `%s`, which they use' % name)
    function = type(prepare)
    for name, f in list(g.items()):
        if type(f) is function and name in request['names']:
            if f.__code__.co_flags & 128:
                f = awaited(f)
            g[name] = guarded(f) if request['guard'] else f

def compiled(request):
    # The literals of tests may be longer than the interpreter reads by default.
    limit, most = getattr(sys, 'set_int_max_str_digits', None), getattr(sys, 'get_int_max_str_digits', int)()
    if limit is not None:
        limit(0)
    try:
        sources = [('setup.py', request['setup'])] + [('test_%d.py' % i, t) for i, t in enumerate(request['tests'])]
        return [(max(i - 1, 0), file, t, compile(t, file, 'exec', dont_inherit=True)) for i, (file, t) in enumerate(sources)]
    except BaseException as e:
        out('test_error', e=describe(e), index=0, line=getattr(e, 'lineno', 0) or 0, source='')
    finally:
        if limit is not None:
            limit(most)

def conclude(e, index, file, text):
    where = list(frames(e))
    lines = text.splitlines()
    line = max([n for f, n in where if f == file] or [0])
    at = {'index': index, 'line': line, 'source': lines[line - 1].strip()[:1000] if 0 < line <= len(lines) else ''}
    if where and where[-1][0] == file and isinstance(e, AssertionError):
        out('assertion', e=describe(e), **at)
    if any(f == 'solution.py' for f, n in where) or isinstance(e, (SystemExit, MemoryError, NameError)):
        out('raised', e=describe(e), **at)
    # The tests were compiled before: a syntax error without a file is of a text that they evaluate, such as an answer.
    broken = isinstance(e, ImportError) or isinstance(e, SyntaxError) and (e.filename or '<')[:1] != '<'
    out('test_error' if broken else 'test_raised', e=describe(e), **at)

def main(request):
    global TOKEN, ME
    ME = getpid()
    request = from_json(request)
    TOKEN = request['token']
    sys.path[:] = [p for p in sys.path if p] + [p for p in request['site'] if p not in sys.path]
    sys.argv[:] = ['solution.py']
    posix.set_inheritable(4, False)
    module = type(sys)('solution')
    sys.modules['solution'] = module
    g = module.__dict__
    g['__builtins__'] = builtins
    try:
        code = compile(request['code'], 'solution.py', 'exec', dont_inherit=True)
    except BaseException as e:
        out('load', phase='compile', e=describe(e), line=getattr(e, 'lineno', None))
    parts, rests = compiled(request), rested_on(request['tests'])
    try:
        exec(code, g)
    except BaseException as e:
        out('load', phase='run', e=describe(e), line=None)
    restore(rests)
    prepare(g, request)
    index, file, text = 0, 'setup.py', ''
    try:
        for index, file, text, part in parts:
            exec(part, g)
        if request['check']:
            g[request['check']](g[request['entry']])
    except BaseException as e:
        conclude(e, index, file, text)
    for owner, name, _ in replaced(rests):
        out('unsound', why='the code replaced `%s` of `%s`, which they use' % (name, owner.__name__))
    out('passed')
