# Compiles tests that only compare what the candidate returns with plain values: into calls, which are made elsewhere, and
# comparisons, which the harness makes. What is no part of that is evaluated here, by Python itself, if it is pure. Nothing is
# guessed: whatever is not certain to mean the same raises `Other`, and the tests go to a judge.
import _ast

class Other(Exception):
    pass

MOST_STEPS = 5000
LARGEST = 200000       # items, characters and bits of a value that is evaluated here
_PURE_BUILTINS = {name: getattr(_b, name) for name in ('abs all any bool bytes bytearray chr complex dict divmod enumerate '
    'filter float format frozenset hex bin oct int len list map max min ord range repr reversed round set sorted str sum '
    'tuple zip slice').split()}
_BUILTIN_TYPES = ('bool bytes bytearray complex dict float frozenset int list range set str tuple type object').split()
_PURE_NAMES = {
    'math': None, 'cmath': None, 'string': ('ascii_letters', 'ascii_lowercase', 'ascii_uppercase', 'digits', 'hexdigits',
        'octdigits', 'punctuation', 'printable', 'whitespace'),
    'collections': ('Counter', 'OrderedDict', 'deque'), 'fractions': ('Fraction',), 'decimal': ('Decimal',),
    'datetime': ('date', 'datetime', 'time', 'timedelta'), 'sys': ('maxsize',),
}
_PURE_METHODS = set(('count index find rfind startswith endswith upper lower title capitalize swapcase strip lstrip rstrip split '
    'rsplit splitlines join replace zfill center ljust rjust format isdigit isalpha isalnum islower isupper encode decode hex '
    'keys values items get copy union intersection difference symmetric_difference issubset issuperset isdisjoint '
    'bit_length is_integer elements most_common').split())
_IMPORTABLE = _MODULES | {'typing', 'array', 'enum', 'queue', 'textwrap', 'unittest', 'numbers', 'calendar', 'itertools', 'abc',
    'dataclasses', 'hashlib', 'base64', 'struct', 'types'}
_PURE_KINDS = set(('Constant Num Str Bytes NameConstant Ellipsis List Tuple Set Dict UnaryOp BinOp BoolOp Compare IfExp Call Name '
    'Attribute Subscript Index Slice ListComp SetComp DictComp GeneratorExp comprehension keyword Load Store Starred And Or '
    'Not USub UAdd Invert Add Sub Mult Div FloorDiv Mod Pow LShift RShift BitAnd BitOr BitXor Eq NotEq Lt LtE Gt GtE Is IsNot '
    'In NotIn').split())
_COMPARE = {'Eq': '==', 'NotEq': '!=', 'Lt': '<', 'LtE': '<=', 'Gt': '>', 'GtE': '>=', 'Is': 'is', 'IsNot': 'is not',
    'In': 'in', 'NotIn': 'not in'}

class Module:
    def __init__(self, name):
        self.name = name

class Answer:
    # A name that stands for what a call returned.
    def __init__(self, call):
        self.call = call

class Unusable:
    pass

def refuse(x):
    raise Other('a value that does not cross')

def sized(x, budget, depth=0):
    # Refuses what is not plain data of a bearable size.
    t = type(x)
    budget[0] -= 1
    if budget[0] < 0 or depth > 60:
        raise Other('a large value')
    if x is None or t in (bool, float, complex, range):
        return
    if t is int:
        if x.bit_length() > LARGEST:
            raise Other('a large value')
    elif t in (str, bytes, bytearray):
        budget[0] -= len(x)
    elif t in (list, tuple, set, frozenset, deque):
        for v in x:
            sized(v, budget, depth + 1)
    elif t in (dict, OrderedDict) or t is counter_type():
        for k, v in dict.items(x):
            sized(k, budget, depth + 1)
            sized(v, budget, depth + 1)
    elif t.__module__ in ('decimal', 'fractions', 'datetime'):
        enc(x)
    elif not (t is type and x.__name__ in _BUILTIN_TYPES and getattr(builtins, x.__name__, None) is x):
        raise Other('not plain data')

def holds(x, found):
    # Whether the value or a part of it is what `found` looks for.
    t = type(x)
    if found(x):
        return True
    if t in (list, tuple, set, frozenset, deque):
        return any(holds(v, found) for v in x)
    if isinstance(x, dict):
        return any(holds(k, found) or holds(v, found) for k, v in x.items())
    return False

def is_nan(x):
    # It equals itself by identity only, which does not cross.
    return not holds_nothing_odd(x)

def holds_nothing_odd(x):
    if type(x) is float:
        return x == x
    if type(x) is complex:
        return x.real == x.real and x.imag == x.imag
    return type(x).__module__ != 'decimal' or x == x

def is_mutable(x):
    return is_container(type(x))

def bounded_range(*args):
    r = range(*args)
    if len(r) > LARGEST:
        raise Other('a large value')
    return r

class Compiler:
    def __init__(self, analysis):
        self.a = analysis
        self.requests, self.steps = [], []
        self.pure_ids = {id(f) for f in _PURE_BUILTINS.values()}
        self.methods = dict(_PURE_BUILTINS, range=bounded_range)
        self.index, self.lines, self.alias = 0, [], None

    # -- names
    def is_candidate(self, name, env):
        return name not in env and self.a.is_candidate(name)

    def lookup(self, name, env):
        if name in env:
            v = env[name]
            if isinstance(v, (Module, Answer, Unusable)):
                raise Other('a name that is no plain value')
            return v
        if name in self.a.bound or self.a.is_candidate(name):
            raise Other('a name without a value')
        if name in ('True', 'False', 'None'):
            return getattr(builtins, name, None)
        if name not in _PURE_BUILTINS and name not in _BUILTIN_TYPES:
            raise Other('a builtin with effects')
        return getattr(builtins, name)

    def bring(self, module, env, name):
        if module.split('.')[0] not in _IMPORTABLE:
            raise Other('an import with effects')
        self.not_candidate(name)
        env[name] = Module(module) if module in _PURE_NAMES else Unusable()

    def attribute(self, module, name):
        # A pure function or constant of a module.
        known = _PURE_NAMES[module]
        m = __import__(module)
        if not hasattr(m, name) or (known is not None and name not in known) or name[:1] == '_':
            raise Other('an attribute with effects')
        v = getattr(m, name)
        if callable(v):
            self.pure_ids.add(id(v))
        return v

    # -- what Python itself evaluates
    def check_pure(self, node, env, local):
        k = _kind(node)
        if k not in _PURE_KINDS:
            raise Other('a ' + k)
        if k == 'Name':
            if type(node.ctx) is _ast.Load and node.id not in local:
                v = self.lookup(node.id, env)
                if callable(v) and id(v) not in self.pure_ids and type(v) is not type:
                    raise Other('a function')
            return
        if k == 'Attribute':
            if _kind(node.value) == 'Name' and isinstance(env.get(node.value.id), Module) and node.value.id not in local:
                self.attribute(env[node.value.id].name, node.attr)
                return
            if node.attr not in _PURE_METHODS:
                raise Other('an attribute')
        if k == 'Call' and _kind(node.func) not in ('Name', 'Attribute'):
            raise Other('a call')
        if k == 'Call' and _kind(node.func) == 'Name' and node.func.id in local:
            raise Other('a call')
        if k == 'BinOp' and _kind(node.op) in ('Pow', 'LShift'):
            # Something like 10 ** 9 is fine, and so is any power of a variable that ranges over little.
            right = self.value_or_none(node.right, env, local)
            if type(right) is not int and type(right) is not float or abs(right) > 4096:
                raise Other('a large power')
        if k == 'BinOp' and _kind(node.op) == 'Mult':
            for side in (node.left, node.right):
                v = self.value_or_none(side, env, local)
                other = node.right if side is node.left else node.left
                if type(v) is int and abs(v) > LARGEST and _kind(other) not in ('Constant', 'Num', 'Name', 'BinOp', 'UnaryOp'):
                    raise Other('a large value')
        for c in _children(node):
            self.check_pure(c, env, local)

    def value_or_none(self, node, env, local):
        if any(_kind(n) == 'Name' and n.id in local for n in self.a.everything(node)):
            return None
        try:
            return self.value(node, env)
        except Other:
            return None

    def value(self, node, env):
        local = set()
        for n in self.a.everything(node):
            if _kind(n) == 'Name' and type(n.ctx) is not _ast.Load:
                local.add(n.id)
            if _kind(n) == 'Name' and n.id not in local and self.is_candidate(n.id, env):
                raise Other('the candidate')
        self.check_pure(node, env, local)
        g = {k: __import__(v.name) if isinstance(v, Module) else v for k, v in env.items()}
        g['__builtins__'] = self.methods
        try:
            v = eval(compile(_ast.Expression(body=node), 'tests', 'eval', dont_inherit=True), g)
            sized(v, [LARGEST])
        except Other:
            raise
        except Exception:
            raise Other('it raises')
        return v

    def constant(self, node, env):
        v = self.value(node, env)
        if holds(v, is_nan):
            raise Other('NaN')
        return v

    def has_candidate(self, node, env):
        return any(_kind(n) == 'Name' and (self.is_candidate(n.id, env) or isinstance(env.get(n.id), Answer))
            for n in self.a.everything(node))

    # -- what is left for the harness
    def call(self, node, env):
        args, kwargs, shared = [], {}, False
        for a in node.args:
            args.append(self.value(a, env))
            shared = shared or self.shares(a, env)
        for kw in node.keywords:
            if kw.arg is None or kw.arg in kwargs:
                raise Other('**')
            kwargs[kw.arg] = self.value(kw.value, env)
            shared = shared or self.shares(kw.value, env)
        passed = args + list(kwargs.values())
        if shared and holds(passed, is_nan):
            raise Other('NaN in an object that may come back')
        self.refuse_shared_parts(passed, set())
        name = self.a.entry if node.func.id == self.alias else node.func.id
        i = len(self.requests) + 1
        if i > MOST_STEPS:
            raise Other('many calls')
        begin_message()
        line = to_json({'i': i, 'f': name, 'a': [enc(a) for a in args], 'k': {k: enc(v) for k, v in kwargs.items()}})
        self.requests.append({'line': line, 'shared': shared})
        return ['call', i - 1]

    def refuse_shared_parts(self, x, seen):
        # An object that is handed over twice in one call changes in both places: only an interpreter keeps that in mind.
        if is_mutable(x):
            if id(x) in seen:
                raise Other('one object in two places')
            seen.add(id(x))
        if type(x) in (list, tuple, deque):
            for v in x:
                self.refuse_shared_parts(v, seen)
        elif isinstance(x, dict):
            for v in x.values():
                self.refuse_shared_parts(v, seen)

    def shares(self, node, env):
        # Whether the call gets an object that a name of the tests holds and that it can change.
        return any(_kind(n) == 'Name' and n.id in env and holds(env[n.id], is_mutable) for n in self.a.everything(node))

    def constant_of(self, v):
        begin_message()
        return ['const', enc(v)]

    def expression(self, node, env):
        if not self.has_candidate(node, env):
            return self.constant_of(self.constant(node, env))
        k = _kind(node)
        if k == 'Name' and isinstance(env.get(node.id), Answer):
            return ['call', env[node.id].call]
        if k == 'Call':
            f = node.func
            if _kind(f) == 'Name' and (f.id == self.alias or self.is_candidate(f.id, env)):
                return self.call(node, env)
            if _kind(f) == 'Name' and f.id in ('abs', 'tuple', 'list', 'set', 'len', 'sorted', 'bool', 'float'):
                if len(node.args) == 1 and not node.keywords and self.lookup(f.id, env) is getattr(builtins, f.id):
                    return [f.id, self.expression(node.args[0], env)]
            return self.isclose(node, env)
        if k == 'BinOp' and _kind(node.op) == 'Sub':
            return ['-', self.expression(node.left, env), self.expression(node.right, env)]
        if k in ('Compare', 'UnaryOp'):
            return self.truth(node, env, False)
        raise Other('a ' + k)

    def isclose(self, node, env):
        f = node.func
        by_module = _kind(f) == 'Attribute' and _kind(f.value) == 'Name' and isinstance(env.get(f.value.id), Module) \
            and env[f.value.id].name == 'math' and f.attr == 'isclose'
        math = sys.modules.get('math')
        by_name = _kind(f) == 'Name' and math is not None and env.get(f.id) is math.isclose
        if not (by_module or by_name) or len(node.args) != 2:
            raise Other('a call')
        a, b = [self.expression(x, env) for x in node.args]
        tolerances = {'rel_tol': 1e-09, 'abs_tol': 0.0}
        for kw in node.keywords:
            v = self.constant(kw.value, env)
            if kw.arg not in tolerances or type(v) is not float or not 0 <= v < 1e300:
                raise Other('a tolerance')
            tolerances[kw.arg] = v
        return ['isclose', a, b, tolerances['rel_tol'], tolerances['abs_tol']]

    def truth(self, node, env, positive):
        # `positive`: the tests only go on when this is true, so that all of it was evaluated then.
        if not self.has_candidate(node, env):
            return self.constant_of(bool(self.constant(node, env)))
        k = _kind(node)
        if k == 'UnaryOp' and _kind(node.op) == 'Not':
            return ['not', self.truth(node.operand, env, False)]
        if k == 'BoolOp' and _kind(node.op) == 'And' and positive:
            return ['and'] + [self.truth(v, env, True) for v in node.values]
        if k == 'Compare':
            return self.compare(node, env, positive)
        return self.expression(node, env)

    def compare(self, node, env, positive):
        if len(node.ops) > 1 and not positive and any(self.has_candidate(c, env) for c in node.comparators[1:]):
            raise Other('a comparison that may stop early')
        sides = [self.expression(x, env) for x in [node.left] + node.comparators]
        ops = [_COMPARE[_kind(op)] for op in node.ops]
        for i, op in enumerate(ops):
            calls = [set(self.calls_in(s)) for s in sides[i:i + 2]]
            if calls[0] & calls[1]:
                raise Other('an answer compared with itself')
            if op in ('is', 'is not') and (sides[i + 1][0] != 'const' or sides[i + 1][1] not in (None, True, False)
                    or type(sides[i + 1][1]) not in (bool, type(None))):
                raise Other('identity')
            if op in ('in', 'not in') and not (sides[i + 1][0] == 'const' and (type(sides[i + 1][1]) is list
                    or type(sides[i + 1][1]) is dict and '$tuple' in sides[i + 1][1])):
                raise Other('a membership')
        return ['compare', sides[0]] + [x for pair in zip(ops, sides[1:]) for x in pair]

    def calls_in(self, e):
        if e[0] == 'call':
            return [e[1]]
        return [c for part in e[1:] if type(part) is list and e[0] != 'const' for c in self.calls_in(part)]

    # -- statements
    def run(self, statements, env, top):
        for s in statements:
            if len(self.steps) > MOST_STEPS:
                raise Other('many steps')
            self.statement(s, env, top)

    def statement(self, s, env, top):
        k = _kind(s)
        if k == 'Assert':
            self.assertion(s, env)
        elif k == 'Expr':
            if self.has_candidate(s.value, env):
                self.step(s, self.call_only(s.value, env), False)
            elif _kind(s.value) not in ('Str', 'Constant', 'Num', 'NameConstant', 'Ellipsis', 'Bytes', 'Name'):
                raise Other('a statement with effects')
            elif _kind(s.value) == 'Name' and s.value.id not in env and s.value.id not in _PURE_BUILTINS and s.value.id != 'print':
                raise Other('a statement with effects')
        elif k == 'Assign':
            self.assign(s, env)
        elif k == 'For':
            self.loop(s, env, top)
        elif k == 'Import':
            for a in s.names:
                if a.asname is None and '.' in a.name:
                    raise Other('an import')
                __import__(a.name)
                self.bring(a.name, env, a.asname or a.name)
        elif k == 'ImportFrom':
            self.import_from(s, env)
        elif k == 'FunctionDef' and top and s.name == self.a.check:
            self.check_function(s, env)
        elif k != 'Pass':
            raise Other('a ' + k)

    def call_only(self, node, env):
        if _kind(node) != 'Call' or _kind(node.func) != 'Name':
            raise Other('a statement with effects')
        return self.expression(node, env)

    def assign(self, s, env):
        if any(_kind(t) != 'Name' for t in s.targets):
            return self.unpack(s, env)
        if self.has_candidate(s.value, env):
            e = self.call_only(s.value, env)
            if e[0] != 'call':
                raise Other('a name for more than an answer')
            self.step(s, e, False)
            v = Answer(e[1])
        else:
            v = self.value(s.value, env)
        for t in s.targets:
            self.not_candidate(t.id)
            env[t.id] = v

    def unpack(self, s, env):
        if len(s.targets) != 1:
            raise Other('an assignment')
        self.bind(s.targets[0], self.value(s.value, env), env)

    def not_candidate(self, name):
        if name in self.a.aliases or name in self.a.shadowed or name == self.alias or name == self.a.entry:
            raise Other('the candidate gets another name')
        if name == self.a.check:
            raise Other('check gets another meaning')

    def bind(self, target, v, env):
        if _kind(target) == 'Name':
            self.not_candidate(target.id)
            env[target.id] = v
        elif _kind(target) in ('Tuple', 'List') and type(v) in (list, tuple) and len(v) == len(target.elts):
            for t, part in zip(target.elts, v):
                self.bind(t, part, env)
        else:
            raise Other('an assignment')

    def loop(self, s, env, top):
        if s.orelse:
            raise Other('a loop with else')
        values = self.value(s.iter, env)
        if type(values) not in (list, tuple, range, str, dict) or len(values) > MOST_STEPS:
            raise Other('a loop')
        for v in list(values):
            self.bind(s.target, v, env)
            self.run(s.body, env, False)

    def import_from(self, s, env):
        if s.level or s.module is None or s.module.split('.')[0] not in _IMPORTABLE:
            raise Other('an import')
        m = __import__(s.module, None, None, ['*'])
        for a in s.names:
            if a.name == '*' or not hasattr(m, a.name):
                raise Other('an import')
            name = a.asname or a.name
            self.not_candidate(name)
            try:
                env[name] = self.attribute(s.module, a.name) if s.module in _PURE_NAMES else Unusable()
            except Other:
                env[name] = Unusable()

    def check_function(self, s, env):
        a = s.args
        if s.decorator_list or a.defaults or a.kwonlyargs or a.vararg or a.kwarg or len(a.args) != 1 or getattr(a, 'posonlyargs', None) \
                or a.args[0].annotation is not None or s.returns is not None or self.check_body is not None:
            raise Other('a check of another shape')
        self.check_body = (s, self.index)

    check_body = None

    def assertion(self, s, env):
        if _kind(s.test) == 'Tuple':
            raise Other('a tuple that is always true')
        test = self.truth(s.test, env, True)
        if test[0] == 'const':
            if test[1] is not True:
                raise Other('it does not hold in any case')
            return
        self.step(s, test, True, s.msg, env)

    def step(self, s, e, asserts, msg=None, env=None):
        # Without a message the harness can't tell what a judge would, and lets a judge tell it.
        message = ''
        if any(getattr(n, 'lineno', s.lineno) != s.lineno for n in self.a.everything(s)) or getattr(s, 'end_lineno', s.lineno) != s.lineno:
            message = None
        elif msg is not None:
            try:
                message = error_of(AssertionError(self.value(msg, env)))['message']
            except Exception:
                message = None
        source = self.lines[s.lineno - 1].strip()[:1000] if 0 < s.lineno <= len(self.lines) else ''
        step = {'index': self.index, 'line': s.lineno, 'source': _text(source), 'test': e, 'asserts': asserts}
        if message is not None and type(_text(message)) is str:
            step['message'] = message
        self.steps.append(step)

def compile_tests(a, setup, tests, trees):
    c = Compiler(a)
    env = {}
    for name in a.modules:
        c.bring(name, env, name)
    for i, (text, tree) in enumerate(zip([setup] + tests, trees)):
        c.index, c.lines = max(i - 1, 0), text.splitlines()
        c.run(tree.body, env, True)
    if a.check:
        if c.check_body is None or c.check_body[1] != c.index:
            raise Other('no check in the last test')
        s = c.check_body[0]
        c.alias = s.args.args[0].arg
        own = {n.id for n in a.everything(s) if _kind(n) == 'Name' and type(n.ctx) is not _ast.Load}
        own.update((x.asname or x.name).split('.')[0] for n in a.everything(s) if _kind(n) in ('Import', 'ImportFrom') for x in n.names)
        if own & set(env) or c.alias in own or c.alias in env:
            raise Other('a name of two scopes')
        c.run(s.body, env, False)
    if not c.requests:
        raise Other('the candidate is not called')
    return {'requests': c.requests, 'steps': c.steps, 'last': len(tests) - 1}
