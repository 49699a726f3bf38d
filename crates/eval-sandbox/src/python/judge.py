# Runs the data set's tests. The candidate's code is never loaded here: its functions are proxies that exchange plain
# data with another process, through descriptor 5. The verdict goes to descriptor 4, with a token that only this process has.
import posix

RESULT, CHANNEL = 4, 5
LONGEST = 0
calls = 0
# Threads of the tests call the candidate one after the other.
_turn, _verdict = _thread.allocate_lock(), _thread.allocate_lock()
used_opaque = None

class OpaqueUsed(BaseException):
    pass

def out(verdict, **more):
    b = to_json(dict(more, token=TOKEN, verdict=verdict, calls=calls)).encode() + b'\n'
    _verdict.acquire()       # and never released: there is one verdict
    try:
        while b:
            b = b[posix.write(RESULT, b):]
    finally:
        posix._exit(0)

def no_use(name):
    def method(self, *a, **k):
        global used_opaque
        used_opaque = object.__getattribute__(self, 'kind')
        raise OpaqueUsed(used_opaque)
    method.__name__ = name
    return method

class Opaque:
    # An answer of a kind that does not cross: any use of it ends the test. Its truth may be known.
    __slots__ = ('kind', 'truth', 'unique')
    def __init__(self, kind, truth, unique):
        object.__setattr__(self, 'kind', kind)
        object.__setattr__(self, 'truth', truth if type(truth) is bool else None)
        object.__setattr__(self, 'unique', unique)
    def __bool__(self):
        truth = object.__getattribute__(self, 'truth')
        return truth if truth is not None else no_use('__bool__')(self)
    def __eq__(self, other):
        # An object of a standard type without an equality of its own equals nothing but itself, as a match object does.
        if not object.__getattribute__(self, 'unique'):
            no_use('__eq__')(self)
        return self is other
    def __ne__(self, other):
        return not self == other
for _name in ('hash getattribute setattr delattr lt le gt ge len iter next contains getitem setitem delitem call '
        'enter exit str repr format int float complex index round trunc floor ceil neg pos abs invert reversed bytes '
        'add radd iadd sub rsub isub mul rmul imul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow '
        'and rand or ror xor rxor lshift rshift matmul rmatmul').split():
    setattr(Opaque, '__%s__' % _name, no_use('__%s__' % _name))

_DECODERS['$opaque'] = lambda v, x: Opaque(text(v)[:200], x.get('truth', x.get('only_truth')), type(x.get('truth')) is bool)
PROXIES = {}

# Exceptions that were handed to the candidate, which may give them back.
GIVEN = []
_giving = _thread.allocate_lock()
_DECODERS['$error'] = lambda v, _: GIVEN[v['n']]

def can_cross(x):
    # Whether `dec` makes values of this kind, so that one may have been an answer.
    t = type(x)
    return (t in (list, tuple, dict, set, frozenset, bytes, complex, range, type(...)) or is_container(t) or t in _VIEWS
        or t in _ITERATORS or t.__module__ in ('decimal', 'fractions', 'datetime', 'uuid')
        or t is type and getattr(builtins, x.__name__, None) is x)

# Types of which an answer is none and of which no operation on an answer makes one, beside those that the tests define.
_NEVER_ANSWERED = {('builtins', 'object'), ('builtins', 'module'), ('builtins', 'slice'), ('builtins', 'property'), ('re', 'Pattern'),
    ('_sre', 'SRE_Pattern'), ('functools', 'partial'), ('functools', '_lru_cache_wrapper'), ('types', 'SimpleNamespace'),
    ('_io', 'StringIO'), ('_io', 'BytesIO'), ('_io', 'TextIOWrapper'), ('random', 'Random'), ('array', 'array'), ('string', 'Template'),
    ('numpy', 'ufunc')}
_NEVER_ANSWERED_MODULES = {'operator', 'itertools', 'pathlib', 'pathlib._local', '_thread', 'threading', 'queue', 'ipaddress', 'unittest.mock'}

def made_by_tests(x):
    # Whether the tests made or imported an object, whatever the answers were.
    t, files = type(x), RUNNING['sources']
    if issubclass(t, type):
        return type.__getattribute__(x, '__module__') == 'tests' or not answered_class(x) and mentions().imports(x)
    if t.__module__ == 'tests' or (t.__module__, t.__name__) in _NEVER_ANSWERED or t.__module__ in _NEVER_ANSWERED_MODULES:
        return True
    if t.__module__.split('.')[0] in ('numpy', 'pandas', 'torch'):
        # An operation on an answer may give an array too, or none.
        return mentions().hand_arrays(set(PROXIES.values()) | {'candidate'})
    name = t.__name__
    if name == 'function':
        # Of the tests, or of a module: a text that the tests evaluate may hold a function too.
        home = sys.modules.get(x.__module__)
        return x.__code__.co_filename in files or home is not None and getattr(home, x.__name__, None) is x
    if name == 'method':
        code = getattr(x.__func__, '__code__', None)
        return getattr(code, 'co_filename', None) in files or made_by_tests(x.__self__)
    if name == 'builtin_function_or_method' and made_by_tests(x.__self__):
        return True
    if name in ('builtin_function_or_method', 'method_descriptor'):
        return mentions().spells(x)
    code = getattr(x, 'cr_code', None) or getattr(x, 'ag_code', None) if name in ('coroutine', 'async_generator') else None
    return code is not None and code.co_filename in files

def answered_class(x):
    # Whether an answer, or an exception in its place, may be of this class.
    return issubclass(x, BaseException) or is_container(x) or x.__module__ in ('builtins', 'decimal', 'fractions', 'datetime', 'uuid', 'numpy')

def opaque(x):
    # A test wants to hand this over. Before the first call any object may need the candidate's interpreter; later only one that
    # the tests made for certain: the candidate must not choose that it shares an interpreter with the tests.
    t = type(x)
    if t is Opaque:
        no_use('')(x)
    if id(x) in PROXIES:
        return {'$fn': PROXIES[id(x)]}
    if issubclass(t, BaseException) and (t.__module__ != 'tests' or calls):
        with _giving:
            n = len(GIVEN)
            GIVEN.append(x)
        return {'$error': dict(error_of(x), n=n)}
    if calls and can_cross(x):
        out('large')       # too deep or too long, not of a kind that can't cross
    if calls and not made_by_tests(x):
        out('opaque', kind=t.__name__[:200], **place())
    out('needs_in_process', why='the tests pass the candidate a %s' % t.__name__)

def hear():
    try:
        b = incoming.readline(LONGEST + 2)
        if not b.endswith(b'\n'):
            out('protocol' if len(b) > LONGEST else 'ended')
        r = from_json(b)
        if type(r) is dict:
            return r
    except MemoryError:
        out('full')        # with all the answers that the tests keep
    except (ValueError, RecursionError):
        pass
    out('protocol')

def update(old, new):
    # Makes `old` hold what `new` holds, keeping the identity of everything that stays, as a change in place does.
    t = type(old)
    if t is not type(new) or not (t is tuple or is_container(t)):
        return new
    if t is tuple:
        return old if len(old) == len(new) and all([update(a, b) is a or a == b for a, b in zip(old, new)]) else new
    if t is list or t is deque:
        merged = [update(a, b) for a, b in zip(old, new)] + list(new)[len(old):]
        old.clear()
        old.extend(merged)
    elif t is bytearray:
        old[:] = new
    elif t is set:
        old.clear()
        old |= new
    else:
        merged = [(k, update(old[k], v) if k in old else v) for k, v in new.items()]
        old.clear()
        dict.update(old, merged)
    return old

def exchange(body):
    # Sends a call, and waits for its answer; other threads of the tests wait for their turn.
    global calls
    with _turn:
        calls += 1
        b = b'{"i":%d,%s\n' % (calls, body[1:])
        try:
            while b:
                b = b[posix.write(CHANNEL, b):]
        except OSError:
            out('ended')
        r = hear()
        if type(r.get('i')) is not int or r['i'] != calls:
            out('protocol')
        return r

def ask(name, args, kwargs):
    settle()
    begin_message()
    try:
        # Arguments may be iterators that call the candidate in their turn: no lock is held here.
        body = to_json({'f': name, 'a': [enc(a) for a in args], 'k': {k: enc(v) for k, v in kwargs.items()}}).encode()
    except TooMuch:
        # What grew beyond all bounds may have come from an earlier answer.
        if calls:
            out('large')
        out('needs_in_process', why='the tests pass too much data to the candidate')
    r = exchange(body)
    if 'e' in r:
        raise_as_named(r['e'])
    if 'large' in r:
        out('large')
    try:
        changed = r.get('a') or {}
        for k, a in enumerate(args):
            if str(k) in changed:
                update(a, dec(changed[str(k)]))
        for k, a in kwargs.items():
            if '=' + k in changed:
                update(a, dec(changed['=' + k]))
        return args[r['same']] if 'same' in r else dec(r['v'])
    except (OpaqueUsed, MemoryError):
        raise
    except BaseException:
        out('protocol')

def proxy(name):
    def fn(*args, **kwargs):
        return ask(name, args, kwargs)
    fn.__name__ = fn.__qualname__ = name
    PROXIES[id(fn)] = name
    return fn

def conclude(e):
    # The innermost line of the tests themselves, and the innermost file of all.
    line, innermost, tb = 0, '', e.__traceback__
    while tb is not None:
        innermost = tb.tb_frame.f_code.co_filename
        if innermost == RUNNING['file']:
            line = tb.tb_lineno
        tb = tb.tb_next
    at = where(line)
    cause, seen = e, 0
    while cause is not None and seen < 20 and not hasattr(cause, '_remote'):
        cause, seen = cause.__context__, seen + 1
    if isinstance(e, OpaqueUsed) or used_opaque is not None:
        out('opaque', kind=used_opaque or str(e), **at)
    if hasattr(e, '_remote'):
        out('raised', e=e._remote, **at)
    if isinstance(e, AssertionError):
        out('assertion', e=error_of(e), **at)
    broken = calls == 0 or cause is None and fault_of_tests(e, innermost)
    out('test_error' if broken else 'test_raised', e=error_of(e), **at)

def fault_of_tests(e, innermost):
    # A name or a module that the tests lack is their own fault, and so is their syntax. What they do with an answer, which
    # they may evaluate or import, is the answer's.
    if isinstance(e, SyntaxError):
        return e.filename in RUNNING['sources'] or (e.filename or '')[:1] == '/'
    if isinstance(e, NameError):
        return innermost in RUNNING['sources']
    if isinstance(e, ImportError) and (innermost in RUNNING['sources'] or 'importlib' in innermost):
        return type(e.name) is str and mentions().imports_module(e.name)
    return isinstance(e, ImportError)

def code_of(request, i, source, file):
    # Compiled by this interpreter when the tests were planned, where they had to be.
    if i < len(request['code']):
        import marshal
        return marshal.loads(bytes.fromhex(request['code'][i]))
    return compile(source, file, 'exec', dont_inherit=True)

def await_candidate():
    # Returns when the candidate's program is loaded.
    r = hear()
    try:
        if 'load' in r:
            e = r.get('e')
            line = e.get('line') if type(e) is dict else None
            out('load', phase=text(r['load'])[:200], e=as_reported(e), line=line if small(line) else None)
        if r.get('ready') is True:
            return
    except BaseException:
        pass
    out('protocol')

def run(request):
    setup, tests, check = request['setup'], request['tests'], request['check']
    sources = dict([('setup.py', setup)] + [('test_%d.py' % i, t) for i, t in enumerate(tests)])
    sys.path[:] = [p for p in sys.path if p] + [p for p in request['site'] if p not in sys.path]
    await_candidate()
    any_digits()
    g = {'__name__': 'tests', '__builtins__': builtins}
    RUNNING.update(modules=request['modules'], sources=sources, source=setup)
    for name in request['modules']:
        g[name] = __import__(name)
    for name in request['names']:
        g[name] = proxy(name)
    try:
        exec(code_of(request, 0, setup, 'setup.py'), g)
        for index, source in enumerate(tests):
            RUNNING.update(index=index, file='test_%d.py' % index, source=source)
            exec(code_of(request, index + 1, source, RUNNING['file']), g)
        if check:
            g[check](proxy(request['entry']))
    except BaseException as e:
        conclude(e)
    if used_opaque is not None:
        out('opaque', kind=used_opaque, index=RUNNING['index'], line=0, source='')
    settle(over=True)
    part()
    out('passed')

def part():
    # Ends the conversation. Any line before the answer to this message is one that was not asked for.
    with _turn:
        b = to_json({'i': calls + 1, 'leave': True}).encode() + b'\n'
        try:
            posix.write(CHANNEL, b)
        except OSError:
            return
        b = incoming.readline(LONGEST + 2)
        if not b:
            return         # the candidate's process ended after its last answer: all answers are known
        try:
            r = from_json(b)
        except (ValueError, RecursionError, MemoryError):
            r = None
        if r != {'i': calls + 1, 'left': True}:
            out('protocol')

def main(request):
    global TOKEN, LONGEST, incoming
    request = from_json(request)
    TOKEN, LONGEST = request.pop('token'), request['most']
    bound_messages(LONGEST)
    incoming = open(posix.dup(CHANNEL), 'rb', buffering=1 << 16)
    run(request)
