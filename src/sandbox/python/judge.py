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

def can_cross(x):
    # Whether `dec` makes values of this kind, so that one may have been an answer.
    t = type(x)
    return (t in (list, tuple, dict, set, frozenset, bytes, complex, range, type(...)) or is_container(t) or t in _VIEWS
        or t in _ITERATORS or t.__module__ in ('decimal', 'fractions', 'datetime', 'uuid')
        or t is type and getattr(builtins, x.__name__, None) is x)

def opaque(x):
    # A test wants to hand this over.
    if type(x) is Opaque:
        no_use('')(x)
    if id(x) in PROXIES:
        return {'$fn': PROXIES[id(x)]}
    if calls > 1 and can_cross(x):
        # Too deep or too long, not of a kind that can't cross: it may come from an earlier answer, and the candidate must
        # not choose that it shares an interpreter with the tests.
        out('large')
    out('needs_in_process', why='the tests hand the candidate a %s' % type(x).__name__)

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

def text(x):
    return x if type(x) is str else '?'

def arguments(e):
    try:
        args = [dec(a) for a in e['args'][:8]]
        if all([type(a) in _PLAIN_ARGUMENTS for a in args]):
            return args
    except Exception:
        pass
    return None

def made_from(t, args, message):
    # `message`: what it must say, for a type may make more of its arguments.
    try:
        err = t(*args)
        return err if message is None or str(err) == message else None
    except Exception:
        return None

def group_from(e, depth):
    try:
        said, parts = e['group']
        if _GROUP is not None and depth < 4 and 'ExceptionGroup' in e['mro'] and type(parts) is list and len(parts) <= 20:
            return _GROUP(text(said), [error_from(p, depth + 1) for p in parts])
    except (KeyError, TypeError, ValueError):
        pass
    return None

def error_from(e, depth=0):
    # An exception of the same standard type, so that tests which expect one find it.
    e = e if type(e) is dict else {}
    message = text(e.get('message'))
    err = group_from(e, depth)
    for name in (e['mro'] if type(e.get('mro')) is list and err is None else []):
        t = getattr(builtins, name, None) if type(name) is str else None
        if isinstance(t, type) and issubclass(t, Exception):
            err = made_from(t, arguments(e), message) or made_from(t, [message], None)
            if err is not None:
                break      # UnicodeDecodeError wants more than a message; its base, ValueError, does not
    err = err or Exception(message)
    err._remote = {'type': text(e.get('type')), 'message': message, 'traceback': text(e.get('traceback')),
        'mro': [text(n) for n in e['mro']][:8] if type(e.get('mro')) is list else []}
    if type(e.get('code')) is int:
        err._remote['code'] = e['code']
    return err

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
        raise error_from(r['e'])
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

def line_of(e, file, source):
    # The innermost line of the tests themselves.
    line, tb = 0, e.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == file:
            line = tb.tb_lineno
        tb = tb.tb_next
    lines = source.splitlines()
    return line, lines[line - 1].strip()[:1000] if 0 < line <= len(lines) else ''

def conclude(e, index, file, source):
    line, text_of_line = line_of(e, file, source)
    where = {'index': index, 'line': line, 'source': text_of_line}
    cause, seen = e, 0
    while cause is not None and seen < 20 and not hasattr(cause, '_remote'):
        cause, seen = cause.__context__, seen + 1
    if isinstance(e, OpaqueUsed) or used_opaque is not None:
        out('opaque', kind=used_opaque or str(e), **where)
    if hasattr(e, '_remote'):
        out('raised', e=e._remote, **where)
    if isinstance(e, AssertionError):
        out('assertion', e=error_of(e), **where)
    # A name or a module that the tests lack is their own fault; what they do with an answer is the answer's.
    broken = calls == 0 or isinstance(e, (NameError, ImportError, SyntaxError)) and cause is None
    out('test_error' if broken else 'test_raised', e=error_of(e), **where)

def code_of(request, i, source, file):
    # Compiled by this interpreter when the tests were planned, where they had to be.
    if i < len(request['code']):
        import marshal
        return marshal.loads(bytes.fromhex(request['code'][i]))
    return compile(source, file, 'exec', dont_inherit=True)

def run(request):
    setup, tests, check = request['setup'], request['tests'], request['check']
    sys.path[:] = [p for p in sys.path if p] + [p for p in request['site'] if p not in sys.path]
    r = hear()
    if 'load' in r:
        out('load', phase=text(r['load']), e=error_from(r.get('e'))._remote, line=(r.get('e') or {}).get('line'))
    if r.get('ready') is not True:
        out('protocol')
    g = {'__name__': 'tests', '__builtins__': builtins}
    for name in request['modules']:
        g[name] = __import__(name)
    for name in request['names']:
        g[name] = proxy(name)
    index, file, source = 0, 'setup.py', setup
    try:
        exec(code_of(request, 0, setup, file), g)
        for index, source in enumerate(tests):
            file = 'test_%d.py' % index
            exec(code_of(request, index + 1, source, file), g)
        if check:
            g[check](proxy(request['entry']))
    except BaseException as e:
        conclude(e, index, file, source)
    if used_opaque is not None:
        out('opaque', kind=used_opaque, index=index, line=0, source='')
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
