# Runs a candidate and the tests in one interpreter, for tests that need the candidate's own classes or share more than plain
# data with it. A program that merely ends early is caught, and so is one that replaces what tests compare by or returns objects
# with an equality of its own; one that looks for the token in this process' memory is not, and the report says so.
import posix
from _operator import is_

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

FUNCTION = type(describe)
MISSING = object()
# Changes that decide no verdict. The interpreter writes a result that is displayed to `_`.
HARMLESS = ('_', '__dict__', '__weakref__', '__slotnames__', '__warningregistry__', 'maxDiff', 'longMessage', 'tearDown_exceptions')

class Rests:
    # What tests call and compare by, as it is before the candidate's program runs.
    def __init__(self, texts):
        self.owners, self.modules = [builtins], {}
        if any('unittest' in t for t in texts):
            import unittest
            names = ['unittest'] + ['unittest.' + n for n in ('case', 'result', 'runner', 'suite', 'loader', 'main', 'util')]
            self.modules = {n: sys.modules[n] for n in names if n in sys.modules}
            for m in self.modules.values():
                self.owners.append(m)
                found = [c for c in vars(m).values() if isinstance(c, type) and str(c.__module__).startswith('unittest')]
                self.owners += [c for c in found if c not in self.owners]
        self.functions = []
        for owner in self.owners:
            for name, v in vars(owner).items():
                self.add(name, owner, v)
        self.first = self.state()

    def add(self, name, owner, v, depth=0):
        parts = [getattr(v, '__func__', None)] if type(v) in (staticmethod, classmethod) else [v.fget] if type(v) is property else [v]
        for f in parts:
            if type(f) is FUNCTION and depth < 4:
                self.functions.append((f, name, owner))
                for cell in f.__closure__ or ():
                    self.add(name, owner, cell.cell_contents, depth + 1)

    def state(self):
        shape = [(type(o), getattr(o, '__bases__', None)) for o in self.owners]
        code = [(f.__code__, f.__defaults__, f.__kwdefaults__) for f, _, _ in self.functions]
        return [dict(vars(o)) for o in self.owners], shape, code, [sys.modules.get(n) for n in self.modules]

    def changes(self, old):
        # -> (what, of what, a function that undoes it)
        now = self.state()
        for name, was, got in zip(self.modules, old[3], now[3]):
            if was is not got:
                yield name, 'sys.modules', lambda: sys.modules.__setitem__(name, was)
        for o, was, got in zip(self.owners, old[0], now[0]):
            if len(was) == len(got) and all(map(is_, was, got)) and all(map(is_, was.values(), got.values())):
                continue
            for name in list(was) + [n for n in got if n not in was]:
                a, b = was.get(name, MISSING), got.get(name, MISSING)
                if a is b or name in HARMLESS or name == '_classSetupFailed' and b is False:
                    continue
                # Modules import more as they run; only what hides a builtin counts.
                if a is MISSING and type(o) is type(sys) and not (name in self.first[0][0] or name == '__getattr__'):
                    continue
                yield name, o.__name__, (lambda: delattr(o, name)) if a is MISSING else (lambda: setattr(o, name, a))
        for o, was, got in zip(self.owners, old[1], now[1]):
            if not all(map(is_, was, got)):
                yield '__class__', str(was[0].__name__), lambda: setattr(o, '__class__', was[0])
        for (f, name, o), was, got in zip(self.functions, old[2], now[2]):
            if not all(map(is_, was, got)):
                def undo():
                    f.__code__, f.__defaults__, f.__kwdefaults__ = was
                yield name, o.__name__, undo

    def restore(self):
        for _, _, undo in self.changes(self.first):
            try:
                undo()
            except (AttributeError, TypeError):
                pass

    def check(self, old):
        for name, owner, _ in self.changes(old):
            out('unsound', why='the code replaced `%s` of `%s`, which the tests use' % (name, owner))

# -- what the tests are given

MOST_LOOKED_AT = 1000
CONTAINERS = ((dict, lambda x: list(dict.keys(x)) + list(dict.values(x))), (list, list.__iter__), (tuple, tuple.__iter__),
    (set, set.__iter__), (frozenset, frozenset.__iter__), (deque, deque.__iter__))
# What a subclass of a container may have without deciding how it compares: a named tuple has these.
PLAIN_NAMES = {'__module__', '__doc__', '__dict__', '__weakref__', '__slots__', '__qualname__', '__annotations__', '__repr__', '__str__',
    '__match_args__', '__getnewargs__', '__new__', '__init__', '__orig_bases__', '__static_attributes__', '__firstlineno__', '__replace__',
    '__annotate_func__', '__annotations_cache__'}

def is_class(x):
    # `isinstance` asks `__class__`, which may be code of the candidate or of a library (lazy objects raise in it).
    return issubclass(type(x), type)

def of_the_code(c):
    # Whether the candidate's program defines a class: no module that was loaded from elsewhere has it.
    if not c.__flags__ & 512:
        return False
    module = c.__dict__.get('__module__')
    if type(module) is not str or getattr(sys.modules.get(module), '__spec__', None) is None:
        return True
    return any(type(v) is FUNCTION and v.__code__.co_filename == 'solution.py' for v in c.__dict__.values())

def equality_of_its_own(x, left, named, strict, depth=0):
    # The type of an object, or of a part of a container, that says by the candidate's code what it equals, or equals anything.
    t = type(x)
    left[0] -= 1
    if x is None or t in (bool, int, float, complex, str, bytes) or t in named or left[0] < 0 or depth > 5:
        return None
    # What of the two a comparison calls is a method of a class, never of the object.
    own = [c for c in type.__dict__['__mro__'].__get__(t) if of_the_code(c)]
    read = [how for c, how in CONTAINERS if issubclass(t, c)]
    for c in own:
        names = set(c.__dict__)
        if names & {'__eq__', '__ne__', '__getattribute__'}:
            return t
        special = {n for n in names if n[:2] == '__' and n[-2:] == '__'}
        if strict and (not read or special - PLAIN_NAMES):
            return t
    if read:
        for part in read[0](x):
            found = equality_of_its_own(part, left, named, strict, depth + 1)
            if found is not None:
                return found
        return None
    try:
        return t if (x == object()) is True and (x == object()) is True else None
    except Exception:
        return None

class Guard:
    # Stands between the tests and the functions that they call: outside of a call the tests' names are theirs, within it
    # those of the code are its own, so that a recursion does not pass through here.
    def __init__(self, g, request, rests):
        self.g, self.rests, self.guard, self.strict = g, rests, request['guard'], request['strict']
        self.entry, self.builtins = request['entry'], [n for n in request['builtins'] if n != request['entry']]
        self.inside, self.hidden, self.wrapped = False, {}, {}
        self.named = set()
        self.refusal = ''
        for name in request['names']:
            f = g.get(name, MISSING)
            if is_class(f) and (not self.strict or name[:1].isupper()):
                self.named.add(f)
            elif type(f) is FUNCTION or self.guard and f is not MISSING and callable(f):
                self.wrap(name, f)
        if self.strict and not self.named:
            self.hide()
        else:
            for name in self.builtins:
                if callable(g.get(name)) and g[name] is not getattr(builtins, name):
                    self.refusal = 'the code defines `%s`, which the tests use; rename it in the code' % name

    def hide(self):
        # Tests use the real builtins, also where the code has a name of its own for another thing.
        for name in self.builtins:
            if name in self.g:
                self.hidden[name] = self.g.pop(name)

    def wrap(self, name, f):
        import functools
        inner = awaited(f) if type(f) is FUNCTION and f.__code__.co_flags & 128 else f
        def call(*a, **k):
            return inner(*a, **k) if self.inside else self.outermost(inner, a, k)
        try:
            functools.update_wrapper(call, f)
            if type(f) is not FUNCTION and not is_class(f):
                for n in dir(f):
                    if n[:2] != '__':
                        setattr(call, n, getattr(f, n))
        except Exception:
            pass
        self.wrapped[name] = (call, inner)
        self.g[name] = call

    def outermost(self, inner, a, k):
        g, old = self.g, self.rests.state()
        tests = {n: f for n, f in g.items() if type(f) is FUNCTION and f.__code__.co_filename[:5] in ('test_', 'setup')}
        codes = {n: f.__code__ for n, f in tests.items()}
        swapped = [(n, c, f) for n, (c, f) in self.wrapped.items() if g.get(n) is c]
        for n, _, f in swapped:
            g[n] = f
        g.update(self.hidden)
        self.inside = True
        try:
            x = inner(*a, **k)
        finally:
            self.inside = False
            if self.strict and not self.named:
                self.hide()
            for n, c, f in swapped:
                if g.get(n) is f:
                    g[n] = c
                elif callable(g.get(n)) and not is_class(g[n]):
                    self.wrap(n, g[n])
            self.rests.check(old)
            if g.get('__builtins__') is not builtins:
                out('unsound', why='the code replaced `__builtins__`, which the tests use')
            for n, f in tests.items():
                if g.get(n) is not f or f.__code__ is not codes[n]:
                    out('unsound', why='the code replaced `%s` of the tests' % n)
        if self.guard:
            t = equality_of_its_own(x, [MOST_LOOKED_AT], self.named, self.strict)
            if t is not None:
                out('opaque', kind=str(t.__name__)[:200])
        return x

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
    parts, rests = compiled(request), Rests([request['setup']] + request['tests'])
    try:
        exec(code, g)
    except BaseException as e:
        out('load', phase='run', e=describe(e), line=None)
    g['__builtins__'] = builtins
    rests.restore()
    guard = Guard(g, request, rests)
    index, file, text = 0, 'setup.py', ''
    try:
        for index, file, text, part in parts:
            exec(part, g)
        if request['check']:
            g[request['check']](g[request['entry']])
    except BaseException as e:
        conclude(e, index, file, text)
    rests.check(rests.first)
    if guard.refusal:
        out('unsound', why=guard.refusal)
    out('passed')
