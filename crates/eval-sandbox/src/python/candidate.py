# Runs in the candidate's process: loads its program and answers calls until the other side closes the channel.
# Nothing here protects anything: the candidate shares this interpreter and may change all of it. What it can reach by
# that is only to give other answers, which is its right.
import posix

FILE = 'solution.py'
CHANNEL = 4
_getpid, _write, _exit, ME = posix.getpid, posix.write, posix._exit, 0
_dumps, _loads = to_json, from_json
BRIEF = None
LONGEST, MOST_WEIGHT = 0, None      # of an answer: its text, and its values in the harness' memory

def opaque(x):
    if id(x) in HANDED:
        return HANDED[id(x)][1]
    t = type(x)
    r = {'$opaque': (home(t) + str(t.__name__))[:200]}
    # The truth of an exact standard type can be told. A type of the candidate's own has none that we would believe.
    if t.__module__ in _STANDARD and getattr(sys.modules.get(t.__module__), t.__name__, None) is t:
        # ... and whether it equals only itself, or whatever has the same content, which nobody there can know.
        r['truth' if t.__eq__ is object.__eq__ else 'only_truth'] = bool(x)
    return r

def home(t):
    # `pandas.` of a class that its package has; nothing of a class of the candidate's own, of a builtin or a standard one.
    root = str(t.__module__).split('.')[0]
    package = sys.modules.get(root)
    if root in _STANDARD or root == 'solution' or getattr(package, '__file__', None) is None:
        return ''
    held = getattr(sys.modules.get(t.__module__), t.__name__, None) is t or getattr(package, t.__name__, None) is t
    return root + '.' if held else ''

# Exceptions that the tests handed over, with what came for them: they go back as they came.
HANDED = {}

def handed(g, v, raw):
    t = g.get(v.get('type'))
    own = isinstance(t, type) and issubclass(t, BaseException)
    e = own and made_from(t, arguments(v), text(v.get('message'))) or error_from(v)
    HANDED[id(e)] = e, raw
    return e

_STANDARD = {'builtins', 're', '_sre', 'datetime', 'uuid', 'ipaddress', 'array', 'itertools', 'functools', 'operator', 'pathlib'}

def tell(message):
    if _getpid() != ME:
        _exit(1)       # a forked copy of the program must not answer for it
    text = _dumps(message)
    if len(text) > LONGEST or MOST_WEIGHT is not None and heavy(text):
        text = _dumps({'i': message.get('i'), 'large': len(text)})
    b = text.encode() + b'\n'
    while b:
        b = b[_write(CHANNEL, b):]

def heavy(text):
    # Whether the values would take the harness more memory than it gives an answer (`weight` in messages.rs).
    def weight(t):
        return 64 * (t.count(', ') + t.count(': ')) + 128 * t.count('[') + 640 * t.count('{')
    if len(text) < 100000 or weight(text) <= MOST_WEIGHT:
        return False
    # Marks within texts weigh nothing: without escapes every other piece between quotes is a text.
    return weight(''.join(text.replace('\\\\', '').replace('\\"', '').split('"')[::2])) > MOST_WEIGHT

def finish():
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        _exit(0)

def load(request):
    source = request['code']
    lines = source.splitlines()
    module = type(sys)('solution')
    module.__file__ = FILE
    sys.modules['solution'] = module      # dataclasses and typing look a class' module up
    g = module.__dict__
    g['__builtins__'] = builtins
    try:
        code = compile(source, FILE, 'exec', dont_inherit=True)
    except BaseException as e:
        tell({'load': 'compile', 'e': error_of(e)})
        finish()
    try:
        exec(code, g)
        # In one program the imports of the test's set-up would stand in the same module.
        for line in request['imports']:
            try:
                exec(line, g)
            except Exception:
                pass
    except BaseException as e:
        tell({'load': 'run', 'e': error_of(e, (FILE, lines))})
        finish()
    return g, lines

async def _coroutine():
    pass
_c = _coroutine()
COROUTINE = type(_c)
_c.close()

def find(g, name):
    head, *rest = name.split('.')
    if head not in g:
        raise NameError("name %r is not defined" % head)
    f = g[head]
    for part in rest:
        of = f
        f = getattr(of, part)
        if isinstance(of, type) and takes_self(of, part):
            f = getattr(of(), part)
    return f

def takes_self(t, name):
    # Whether `Solution.solve` is called on an instance: unless it is static, a class method, or has no `self`.
    raw = next((c.__dict__[name] for c in t.__mro__ if name in c.__dict__), None)
    if raw is None or isinstance(raw, (staticmethod, classmethod, type)) or not hasattr(raw, '__get__'):
        return False
    code = getattr(getattr(raw, '__wrapped__', raw), '__code__', None)
    return code is None or code.co_varnames[:1] == ('self',) or not code.co_argcount and bool(code.co_flags & 4)

def may_differ(v, data, loads):
    # Whether a value could differ from its copy. Of a very large one the copy is made only where NaN could be in it.
    if len(data) > 1 << 25 and b'\xf8\x7f' not in data and b'\xf8\xff' not in data:
        return False
    return loads(data) != v

def brief(v):
    # A large plain value as a digest (`BriefValues` in types.rs): making its text would take longer than most functions.
    if type(v) in (list, tuple, dict, str, int, set):
        import marshal
        try:
            data = marshal.dumps(v, 2)
            if len(data) > BRIEF['above'] and not (BRIEF['only_equal'] and may_differ(v, data, marshal.loads)):
                try:
                    from _blake2 import blake2b
                except ImportError:
                    from hashlib import blake2b
                return {'$digest': blake2b(data, digest_size=32).hexdigest(), 'floats': type(v) in (list, tuple) and set(map(type, v)) == {float}}
        except ValueError:
            pass       # it holds what `marshal` does not know, or is nested too deep
    return enc(v)

def differs(now, before):
    # As they are spelled: True is no 1 for the other side, and a dict has an order.
    return now != before or _dumps(now) != _dumps(before)

def answer(g, lines, q):
    i, raw = q['i'], q['a']
    begin_message()
    try:
        f = find(g, q['f'])
        args = [dec(x) for x in raw]
        kwargs = {k: dec(x) for k, x in q['k'].items()}
        v = f(*args, **kwargs)
        if type(v) is COROUTINE:
            import asyncio
            v = asyncio.run(v)
        if BRIEF is not None:
            return {'i': i, 'v': brief(v)}
        for k, a in enumerate(args):
            if v is a and is_container(type(a)):
                r = {'i': i, 'same': k}
                break
        else:
            r = {'i': i, 'v': enc(v)}
        # What the call changed in place.
        changed = {}
        for k, a in enumerate(args):
            if type(a) is tuple or is_container(type(a)):
                now = enc(a)
                if differs(now, raw[k]):
                    changed[str(k)] = now
        for k, a in kwargs.items():
            if type(a) is tuple or is_container(type(a)):
                now = enc(a)
                if differs(now, q['k'][k]):
                    changed['=' + k] = now
        if changed:
            r['a'] = changed
        return r
    except TooMuch:
        return {'i': i, 'large': 1}
    except BaseException as e:
        return {'i': i, 'e': error_of(e, (FILE, lines))}

def main(request):
    global ME, LONGEST, MOST_WEIGHT, BRIEF
    ME = _getpid()
    request = _loads(request)
    LONGEST, MOST_WEIGHT = request['most'], request['most_weight']
    BRIEF = request.get('brief')
    bound_messages(LONGEST)
    sys.path[:] = [p for p in sys.path if p] + [p for p in request['site'] if p not in sys.path]
    sys.argv[:] = [FILE]
    posix.set_inheritable(CHANNEL, False)
    incoming = open(posix.dup(CHANNEL), 'rb', buffering=1 << 16)
    g, lines = load(request)
    _DECODERS['$fn'] = lambda v, _: find(g, v)
    _DECODERS['$error'] = lambda v, raw: handed(g, v, raw)
    tell({'ready': True})
    for line in incoming:
        q = _loads(line)
        if 'leave' in q:
            tell({'i': q['i'], 'left': True})
            break
        tell(answer(g, lines, q))
    finish()
