# Runs the data set's tests. The candidate's code is never loaded here: its functions are proxies that exchange plain
# data with another process, through descriptor 5. The verdict goes to descriptor 4, with a token that only this process has.
import posix

RESULT, CHANNEL = 4, 5
LONGEST = 8 << 20
calls = 0
used_opaque = None

class OpaqueUsed(BaseException):
    pass

def out(verdict, **more):
    b = to_json(dict(more, token=TOKEN, verdict=verdict, calls=calls)).encode() + b'\n'
    while b:
        b = b[posix.write(RESULT, b):]
    posix._exit(0)

def no_use(name):
    def method(self, *a, **k):
        global used_opaque
        used_opaque = object.__getattribute__(self, 'kind')
        raise OpaqueUsed(used_opaque)
    method.__name__ = name
    return method

class Opaque:
    # What the candidate returned and nobody here can know: any use of it ends the test. Its truth may be known.
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

_DECODERS['$opaque'] = lambda v, x: Opaque(str(v), x.get('truth', x.get('only_truth')), type(x.get('truth')) is bool)
PROXIES = {}

# Exceptions that were handed to the candidate, which may give them back.
GIVEN = []
_DECODERS['$error'] = lambda v, _: GIVEN[v['n']]

def can_cross(x):
    # Whether `dec` makes values of this kind, so that one may have been an answer.
    t = type(x)
    return (t in (list, tuple, dict, set, frozenset, bytes, complex, range, type(...)) or is_container(t) or t in _VIEWS
        or t in _ITERATORS or t.__module__ in ('decimal', 'fractions', 'datetime', 'uuid')
        or t is type and getattr(builtins, x.__name__, None) is x)

def follows_from_answers(x):
    # Whether an answer, or an exception in its place, can be why the tests have an object of this kind.
    if isinstance(x, type):
        return x.__module__ != 'tests' and not mentions().imports(x, scopes())
    return x is NotImplemented or type(x).__name__ in ('traceback', 'frame')

def opaque(x):
    # A test wants to hand this over. Only tests that have not seen an answer yet, or that made the object themselves, may need
    # the candidate's interpreter: the candidate must not choose that it shares one with the tests.
    t = type(x)
    if t is Opaque:
        no_use('')(x)
    if id(x) in PROXIES:
        return {'$fn': PROXIES[id(x)]}
    if issubclass(t, BaseException) and (t.__module__ != 'tests' or calls > 1):
        GIVEN.append(x)
        return {'$error': dict(error_of(x), n=len(GIVEN) - 1)}
    if calls > 1 and can_cross(x):
        out('large')       # too deep or too long, not of a kind that can't cross
    if calls > 1 and follows_from_answers(x):
        out('opaque', kind=t.__name__, **place())
    out('needs_in_process', why='the tests hand the candidate a %s' % t.__name__)

def hear():
    b = incoming.readline(LONGEST + 2)
    if not b.endswith(b'\n'):
        out('protocol' if len(b) > LONGEST else 'ended')
    try:
        r = from_json(b)
        if type(r) is dict:
            return r
    except (ValueError, RecursionError, MemoryError):
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

def ask(name, args, kwargs):
    global calls
    settle()
    calls += 1
    n = calls
    begin_message()
    try:
        b = to_json({'i': n, 'f': name, 'a': [enc(a) for a in args], 'k': {k: enc(v) for k, v in kwargs.items()}}).encode() + b'\n'
    except TooMuch:
        # What grew beyond all bounds may have come from an earlier answer.
        if n > 1:
            out('large')
        out('needs_in_process', why='the tests hand the candidate too much data')
    try:
        while b:
            b = b[posix.write(CHANNEL, b):]
    except OSError:
        out('ended')
    r = hear()
    if type(r.get('i')) is not int or r['i'] != n:
        out('protocol')
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
    # A name or a module that the tests lack is their own fault, and so is their syntax. What they do with an answer, which
    # they may evaluate, is the answer's.
    evaluated = (e.filename or '<')[:1] == '<' if isinstance(e, SyntaxError) else innermost == '<string>'
    broken = calls == 0 or isinstance(e, (NameError, ImportError, SyntaxError)) and cause is None and not evaluated
    out('test_error' if broken else 'test_raised', e=error_of(e), **at)

def code_of(request, i, source, file):
    # Compiled by this interpreter when the tests were planned, where they had to be.
    if i < len(request['code']):
        import marshal
        return marshal.loads(bytes.fromhex(request['code'][i]))
    return compile(source, file, 'exec', dont_inherit=True)

def run(request):
    setup, tests, check = request['setup'], request['tests'], request['check']
    sources = dict([('setup.py', setup)] + [('test_%d.py' % i, t) for i, t in enumerate(tests)])
    sys.path[:] = [p for p in sys.path if p] + [p for p in request['site'] if p not in sys.path]
    r = hear()
    if 'load' in r:
        out('load', phase=text(r['load']), e=as_reported(r.get('e')), line=(r.get('e') or {}).get('line'))
    if r.get('ready') is not True:
        out('protocol')
    g = {'__name__': 'tests', '__builtins__': builtins}
    RUNNING.update(globals=g, sources=sources, source=setup)
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
    # Takes leave of the candidate: whatever comes before the answer to that was not asked for.
    b = to_json({'i': calls + 1, 'leave': True}).encode() + b'\n'
    try:
        posix.write(CHANNEL, b)
    except OSError:
        return
    b = incoming.readline(LONGEST + 2)
    if not b:
        return         # it ended after its last answer, which is no matter any more
    try:
        r = from_json(b)
    except (ValueError, RecursionError, MemoryError):
        r = None
    if r != {'i': calls + 1, 'left': True}:
        out('protocol')

def main(request):
    global TOKEN, incoming
    request = from_json(request)
    TOKEN = request.pop('token')
    incoming = open(posix.dup(CHANNEL), 'rb', buffering=1 << 16)
    run(request)
