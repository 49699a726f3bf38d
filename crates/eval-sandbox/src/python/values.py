# Values <-> tagged JSON (the format is documented at `Call` in types.rs). Shared by the candidate's runner and the judge.
# `opaque(x)`, which says what to do with a value that can't cross, is defined by the runner that this is put in front of.
#
# Only modules that are part of the interpreter are imported: `json` and `collections` would double the time of a start.
import sys, builtins
from _collections import OrderedDict, defaultdict, deque

DEEPEST = 110          # nested JSON levels: the harness' parser refuses 128
MOST_ITEMS = 100000    # of a generator, which may have no end

def _codec():
    try:
        import _json
        class Context:
            strict, object_hook, object_pairs_hook = True, None, None
            parse_float, parse_int, parse_constant, memo = float, int, float, {}
        scan = _json.make_scanner(Context())
        encode = _json.make_encoder(None, None, _json.encode_basestring_ascii, None, ': ', ', ', False, False, True)
        def dumps(x):
            return ''.join(encode(x, 0))
        def loads(b):
            text = (b if type(b) is str else b.decode()).strip(' \t\r\n')
            try:
                value, end = scan(text, 0)
            except (StopIteration, SystemError):
                # The scanner words its errors by the module `json`; without it, it fails without a word.
                raise ValueError('not JSON')
            if end != len(text):
                raise ValueError('more than JSON')
            return value
        sample = {'a': [1, 2.5, '\xe9\ud800', None, True, {}]}
        if loads(dumps(sample)) == sample:
            return dumps, loads
    except Exception:
        pass
    import json        # an interpreter with other insides
    return json.dumps, json.loads

to_json, from_json = _codec()

# Python 3.6 has no `isascii`.
_is_ascii = getattr(str, 'isascii', None) or (lambda s: all(c < '\x80' for c in s))

def any_digits():
    # The integers of tests may be longer than the interpreter reads and writes by default.
    getattr(sys, 'set_int_max_str_digits', int)(0)

def counter_type():
    # Nobody has a Counter who has not imported its module.
    return getattr(sys.modules.get('collections'), 'Counter', None)

def is_container(t):
    # Types that a call can change in place.
    return t in (list, dict, set, bytearray, deque, defaultdict, OrderedDict) or t is counter_type() and t is not None

def _generator():
    yield 0
_ITERATORS = tuple(type(x) for x in [_generator(), map(abs, ()), filter(None, ()), zip(), enumerate(()), reversed([]), reversed(()),
    iter(()), iter([]), iter(''), iter({}), iter(set()), iter(range(0)), iter({}.values()), iter({}.items()), iter(range(1 << 65)),
    iter(b''), iter(bytearray()), iter(deque()), reversed(deque()), iter(OrderedDict())]
    + [reversed(x) for x in ({}, {}.values(), {}.items()) if hasattr(x, '__reversed__')])      # from Python 3.8 on
_VIEWS = {type({}.keys()): '$dict_keys', type({}.values()): '$dict_values', type({}.items()): '$dict_items'}
_VIEWS.update({type(getattr(OrderedDict(), n)()): '$dict_' + n for n in ('keys', 'values', 'items')})
_MAPPINGS = {OrderedDict: '$odict', defaultdict: '$defaultdict'}

class TooMuch(Exception):
    # More than any channel takes. Data that holds itself twice would else be unfolded for ever.
    pass

# Of one message: each takes two bytes at least, and a container some memory too.
_most_parts = 4000000
_parts_left = _most_parts

def bound_messages(size):
    global _most_parts
    _most_parts = max(_most_parts, size >> 1)

def begin_message():
    global _parts_left
    _parts_left = _most_parts

def _count(x):
    global _parts_left
    _parts_left -= len(x) + 6
    if _parts_left < 0:
        raise TooMuch

def _text(x):
    if _is_ascii(x):
        return x
    try:
        x.encode()
        return x
    except UnicodeEncodeError:
        return {'$wtf8': x.encode('utf-8', 'surrogatepass').hex()}

def _pairs(items, d):
    return [[enc(k, d + 3), enc(v, d + 3)] for k, v in items]

_SAFE = 1 << 53        # integers below are the same in every reader of JSON

def _items(x, d):
    # Elements of a list or a tuple; what is most common stays as it is without a call.
    _count(x)
    return [v if type(v) is int and -_SAFE < v < _SAFE or type(v) is str and _is_ascii(v) else enc(v, d) for v in x]

def enc(x, d=0):
    t = type(x)
    if x is None or t is bool:
        return x
    if t is int:
        return x if -_SAFE < x < _SAFE else {'$int': hex(x)}
    if t is str:
        return x if _is_ascii(x) else _text(x)
    if t is float:
        return x if x - x == 0 else {'$float': 'nan' if x != x else ('inf' if x > 0 else '-inf')}
    if d > DEEPEST:
        return opaque(x)
    if t is list:
        return _items(x, d + 1)
    if t is tuple:
        return {'$tuple': _items(x, d + 2)}
    if t is dict:
        _count(x)
        for k in x:
            if type(k) is not str or k[:1] == '$' or not _is_ascii(k):
                return {'$dict': _pairs(x.items(), d)}
        return {k: enc(v, d + 1) for k, v in x.items()}
    if t is set:
        _count(x)
        return {'$set': [enc(v, d + 2) for v in x]}
    if t is frozenset:
        _count(x)
        return {'$frozenset': [enc(v, d + 2) for v in x]}
    return _enc_rare(x, t, d)

def _enc_rare(x, t, d):
    if t in _MAPPINGS:
        _count(x)
        return {_MAPPINGS[t]: _pairs(dict.items(x), d)}
    if t is counter_type():
        return {'$counter': _pairs(dict.items(x), d)}
    if t is deque:
        _count(x)
        return {'$deque': [[enc(v, d + 3) for v in x], x.maxlen]}
    if t is bytes:
        return {'$bytes': x.hex()}
    if t is bytearray:
        return {'$bytearray': x.hex()}
    if t is complex:
        return {'$complex': [enc(x.real), enc(x.imag)]}
    if t is range:
        return {'$range': [enc(x.start), enc(x.stop), enc(x.step)]}
    if t in _VIEWS:
        _count(x)
        return {_VIEWS[t]: [enc(v, d + 2) for v in x]}
    if t in _ITERATORS:
        items = []
        for v in x:
            if len(items) == MOST_ITEMS:
                return opaque(x)
            items.append(enc(v, d + 2))
        return {'$iter': items}
    if x is Ellipsis:
        return {'$ellipsis': True}
    if t is type and getattr(builtins, x.__name__, None) is x:
        return {'$type': x.__name__}
    return _enc_foreign(x, t, d)

def _enc_foreign(x, t, d):
    # Exact types of modules that are only looked at when somebody has imported them.
    loaded = sys.modules.get
    decimal, fractions, numpy = loaded('decimal'), loaded('fractions'), loaded('numpy')
    if decimal is not None and t is getattr(decimal, 'Decimal', None):
        return {'$decimal': str(x)}
    if fractions is not None and t is getattr(fractions, 'Fraction', None):
        return {'$fraction': [enc(x.numerator), enc(x.denominator)]}
    if numpy is not None and t.__module__ == 'numpy' and isinstance(x, getattr(numpy, 'generic', ())):
        return enc(x.item(), d + 1)
    datetime, uuid = loaded('datetime'), loaded('uuid')
    if datetime is not None:
        if t is getattr(datetime, 'timedelta', None):
            return {'$timedelta': [x.days, x.seconds, x.microseconds]}
        if t is getattr(datetime, 'date', None):
            return {'$date': x.isoformat()}
        for name in ('datetime', 'time'):
            if t is getattr(datetime, name, None) and (x.tzinfo is None or type(x.tzinfo) is getattr(datetime, 'timezone', None)):
                return {'$' + name: x.isoformat()}
    if uuid is not None and t is getattr(uuid, 'UUID', None):
        return {'$uuid': str(x)}
    # A subclass that compares as its base does is its base's value. One with an `__eq__` of its own is not a value.
    for base, plain in ((tuple, tuple.__iter__), (str, None), (int, int.__int__), (float, float.__float__), (list, list.__iter__), (dict, dict.items)):
        if base in t.__mro__[1:]:
            if t.__eq__ is not base.__eq__ or t.__ne__ is not base.__ne__:
                break
            if base is tuple:
                return {'$tuple': [enc(v, d + 2) for v in plain(x)]}
            if base is list:
                return [enc(v, d + 1) for v in plain(x)]
            if base is dict:
                return {'$dict': _pairs(plain(x), d)}
            return enc(str.__str__(x) if plain is None else plain(x), d)
    return opaque(x)

def dec(x):
    t = type(x)
    if t is list:
        return [dec(v) if type(v) is list or type(v) is dict else v for v in x]
    if t is not dict:
        return x
    if len(x) <= 2:
        for k in x:
            if k[:1] == '$':
                return _DECODERS[k](x[k], x)
    return {k: dec(v) if type(v) is list or type(v) is dict else v for k, v in x.items()}

def _dict(pairs):
    return {dec(k): dec(v) for k, v in pairs}

def _counter(pairs):
    from collections import Counter
    c = Counter()
    dict.update(c, _dict(pairs))
    return c

def _defaultdict(pairs):
    return defaultdict(None, _dict(pairs))

def _decimal(text):
    from decimal import Decimal
    return Decimal(text)

def _fraction(n, d):
    from fractions import Fraction
    return Fraction(n, d)

def _timedelta(days, seconds, microseconds):
    from datetime import timedelta
    return timedelta(days, seconds, microseconds)

def _iso(name, text):
    import datetime
    return getattr(datetime, name).fromisoformat(text)

def _uuid(text):
    from uuid import UUID
    return UUID(text)

def _plain_type(name):
    t = getattr(builtins, name)
    if type(t) is not type:
        raise ValueError(name)
    return t

def _malformed(v):
    raise ValueError('not a list')

_DECODERS = {
    '$int': lambda v, _: int(v, 16),
    '$float': lambda v, _: float(v),
    '$wtf8': lambda v, _: bytes.fromhex(v).decode('utf-8', 'surrogatepass'),
    '$tuple': lambda v, _: tuple(dec(v)) if type(v) is list else _malformed(v),
    '$dict': lambda v, _: _dict(v),
    '$set': lambda v, _: {dec(w) for w in v},
    '$frozenset': lambda v, _: frozenset([dec(w) for w in v]),
    '$counter': lambda v, _: _counter(v),
    '$odict': lambda v, _: OrderedDict([(dec(a), dec(b)) for a, b in v]),
    '$defaultdict': lambda v, _: _defaultdict(v),
    '$deque': lambda v, _: deque([dec(w) for w in v[0]], v[1]),
    '$bytes': lambda v, _: bytes.fromhex(v),
    '$bytearray': lambda v, _: bytearray.fromhex(v),
    '$complex': lambda v, _: complex(dec(v[0]), dec(v[1])),
    '$range': lambda v, _: range(*[dec(w) for w in v]),
    '$iter': lambda v, _: iter([dec(w) for w in v]),
    '$dict_keys': lambda v, _: dict.fromkeys([dec(w) for w in v]).keys(),
    '$dict_values': lambda v, _: dict(enumerate([dec(w) for w in v])).values(),
    '$dict_items': lambda v, _: dict([dec(w) for w in v]).items(),
    '$ellipsis': lambda v, _: Ellipsis,
    '$type': lambda v, _: _plain_type(v),
    '$decimal': lambda v, _: _decimal(v),
    '$fraction': lambda v, _: _fraction(dec(v[0]), dec(v[1])),
    '$timedelta': lambda v, _: _timedelta(*v),
    '$date': lambda v, _: _iso('date', v),
    '$datetime': lambda v, _: _iso('datetime', v),
    '$time': lambda v, _: _iso('time', v),
    '$uuid': lambda v, _: _uuid(v),
}

_PLAIN_ARGUMENTS = (str, int, float, bool, bytes, type(None))
# Makes an `ExceptionGroup` where all members are of that kind.
_GROUP = getattr(builtins, 'BaseExceptionGroup', None)

def _add_details(r, e, depth):
    # What an exception of the same standard type is made from: its arguments, and the members of a group.
    try:
        args = e.args
        if isinstance(e, OSError) and len(args) == 2 and type(e.filename) is str:
            args += (e.filename,)
        if type(args) is tuple and len(args) <= 8 and all(type(a) in _PLAIN_ARGUMENTS for a in args):
            args = [enc(a) for a in args]
            if len(to_json(args)) <= 4000:
                r['args'] = args
        if _GROUP is not None and isinstance(e, _GROUP) and depth < 3:
            r['group'] = [str(e.message)[:2000], [error_of(x, None, depth + 1) for x in e.exceptions[:20]]]
    except Exception:
        pass

def error_of(e, mark=None, depth=0):
    # What is told of an exception. `mark`: only frames of this file are shown, with their lines.
    t = type(e)
    r = {'type': str(t.__name__)[:200], 'mro': [str(c.__name__)[:200] for c in t.__mro__[:8]]}
    # However many layers a class has, its standard bases are among the names.
    r['mro'] += [c.__name__ for c in t.__mro__[8:] if getattr(builtins, str(c.__name__), None) is c]
    try:
        r['message'] = str(e)[:2000]
        r['message'].encode()
    except BaseException:
        r['message'] = '?'
    _add_details(r, e, depth)
    if isinstance(e, SyntaxError) and type(e.lineno) is int:
        r['line'] = e.lineno
    if isinstance(e, SystemExit):
        r['code'] = e.code if type(e.code) is int else (0 if e.code is None else 1)
    if mark is not None:
        name, lines = mark
        shown, tb = [], e.__traceback__
        while tb is not None:
            f = tb.tb_frame.f_code
            if f.co_filename == name:
                text = lines[tb.tb_lineno - 1].strip() if 0 < tb.tb_lineno <= len(lines) else ''
                shown.append('line %d, in %s\n    %s' % (tb.tb_lineno, f.co_name, text[:200]))
            tb = tb.tb_next
        r['traceback'] = '\n'.join(shown[-8:]).encode('utf-8', 'replace').decode()
    return r

def text(x):
    return x if type(x) is str else '?'

def class_names(e):
    # The classes that an exception claims to be, its own first.
    names = e.get('mro')
    names = [text(n) for n in names[:24]] if type(names) is list else []
    return names or ['Exception', 'BaseException']

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
        return err if isinstance(err, t) and (message is None or str(err) == message) else None
    except Exception:
        return None

def group_from(e, depth):
    try:
        said, parts = e['group']
        if _GROUP is not None and depth < 4 and type(parts) is list and len(parts) <= 20 \
                and not {'ExceptionGroup', 'BaseExceptionGroup'}.isdisjoint(class_names(e)):
            return _GROUP(text(said), [error_from(p, depth + 1) for p in parts])
    except (KeyError, TypeError, ValueError):
        pass
    return None

def error_from(e, depth=0):
    # An exception of the nearest standard type.
    e = e if type(e) is dict else {}
    message = text(e.get('message'))
    err = group_from(e, depth)
    for name in class_names(e) if err is None else []:
        t = getattr(builtins, name, None)
        if isinstance(t, type) and issubclass(t, BaseException):
            err = made_from(t, arguments(e), message) or made_from(t, [message], None)
            if err is not None:
                break      # UnicodeDecodeError wants more than a message; its base, ValueError, does not
    return err or Exception(message)
