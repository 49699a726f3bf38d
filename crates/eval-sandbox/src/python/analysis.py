# Decides, from the tests alone, whether they can run apart from the candidate, and which names they take from it.
#
# Apart: candidate functions are called with plain data and give plain data back. Together: the tests construct the
# candidate's classes, look at attributes of what it returned, or hand it functions and objects of their own.
import builtins as _b
from _collections import OrderedDict, deque

_AST = 0x400          # PyCF_ONLY_AST
_PLAIN = set()
for _t in (str, bytes, int, float, complex, list, tuple, dict, set, frozenset, range, bytearray,
        OrderedDict, deque):
    _PLAIN.update(dir(_t))
_PLAIN.update(('most_common', 'elements', 'subtract', 'total'))       # of a Counter

_MODULES = {'sys', 'math', 're', 'collections', 'itertools', 'functools', 'operator', 'random', 'string', 'datetime', 'heapq',
    'bisect', 'statistics', 'cmath', 'decimal', 'fractions', 'copy', 'json', 'os', 'time'}

def _children(node):
    for field in node._fields:
        v = getattr(node, field, None)
        if isinstance(v, list):
            for x in v:
                if hasattr(x, '_fields'):
                    yield x
        elif hasattr(v, '_fields'):
            yield v

def _kind(node):
    return type(node).__name__

class Analysis:
    def __init__(self, entry, check):
        self.entry, self.check = entry, check
        self.bound = set()       # names that the tests define themselves, in any scope
        self.own = set()         # ... by def, class or lambda
        self.imported = set()
        self.candidate = []      # names taken from the candidate, in order
        self.aliases = set()     # names of the tests that stand for the candidate's function (check's parameter)
        self.tainted = set()     # names that may hold what the candidate returned
        self.modules = []        # standard modules that the tests use without importing them
        self.shadowed = set()    # builtin names that stand for functions of the candidate
        self.hidden = set()      # names of the candidate that are local where the walk is
        self.builtins = set()    # builtin names that the tests use as such
        self.why = ''
        self.star = False

    def blame(self, why):
        if not self.why:
            self.why = why

    # -- names
    def bind(self, node):
        k = _kind(node)
        if k == 'Name' and _kind(node.ctx) != 'Load':
            self.bound.add(node.id)
        elif k in ('FunctionDef', 'AsyncFunctionDef', 'ClassDef'):
            self.bound.add(node.name)
            self.own.add(node.name)
            if k != 'ClassDef' and node.name == self.check:
                first = (node.args.posonlyargs if hasattr(node.args, 'posonlyargs') else []) + node.args.args
                if first:
                    self.aliases.add(first[0].arg)
        elif k == 'arg':
            self.bound.add(node.arg)
        elif k in ('Import', 'ImportFrom'):
            for a in node.names:
                if a.name == '*':
                    self.star = True
                name = (a.asname or a.name).split('.')[0]
                self.bound.add(name)
                self.imported.add(name)
        elif k == 'ExceptHandler' and node.name:
            self.bound.add(node.name)
        for c in _children(node):
            self.bind(c)

    def is_candidate(self, name):
        if name in self.hidden:
            return False
        if name in self.aliases or name in self.shadowed:
            return True
        return name not in self.bound and (not hasattr(_b, name) or name == self.entry)

    def free_what_is_local(self, trees):
        # A name that only some function of the tests binds is the candidate's where the module itself uses it.
        top, used = set(), set()
        for t in trees:
            _module_names(t, top, used)
        self.local_too = {name for name in used - top if name in self.bound and not hasattr(_b, name)}
        self.bound -= self.local_too
        self.own -= self.local_too

    local_too = frozenset()

    def entering(self, node):
        # -> the names of the candidate that a function of the tests hides
        if not self.local_too or _kind(node) not in _FUNCTIONS:
            return ()
        inner = set()
        for n in self.everything(node):
            _bound_by(n, inner)
        return (inner - {getattr(node, 'name', None)}) & self.local_too - self.hidden

    # -- does this expression hold what the candidate returned?
    def from_candidate(self, node):
        k = _kind(node)
        if k == 'Call' and _kind(node.func) == 'Name' and self.is_candidate(node.func.id):
            return True
        if k == 'Name':
            return node.id in self.tainted
        if k in ('Lambda', 'FunctionDef', 'AsyncFunctionDef'):
            return False
        if k == 'Compare':
            return False
        return any(self.from_candidate(c) for c in _children(node))

    def taint(self, node):
        # One pass; called until nothing is added.
        hidden = self.entering(node)
        self.hidden.update(hidden)
        try:
            return self.taint_here(node)
        finally:
            self.hidden.difference_update(hidden)

    def taint_here(self, node):
        k, before = _kind(node), len(self.tainted)
        pairs = []
        if k == 'Assign':
            pairs = [(t, node.value) for t in node.targets]
        elif k in ('AugAssign', 'AnnAssign', 'NamedExpr') and node.value is not None:
            pairs = [(node.target, node.value)]
        elif k in ('For', 'AsyncFor', 'comprehension'):
            pairs = [(node.target, node.iter)]
        elif k == 'withitem' and node.optional_vars is not None:
            pairs = [(node.optional_vars, node.context_expr)]
        for target, value in pairs:
            if self.from_candidate(value):
                self.names_of(target)
        grown = len(self.tainted) != before
        for c in _children(node):
            grown = self.taint(c) or grown
        return grown

    def names_of(self, target):
        if _kind(target) == 'Name':
            self.tainted.add(target.id)
        for c in _children(target):
            self.names_of(c)

    # -- uses
    def use(self, name):
        if name not in self.aliases and name not in self.candidate:
            self.candidate.append(name)

    def visit(self, node, role=''):
        hidden = self.entering(node)
        self.hidden.update(hidden)
        try:
            self.visit_here(node, role)
        finally:
            self.hidden.difference_update(hidden)

    def visit_here(self, node, role):
        k = _kind(node)
        if k == 'Name':
            if _kind(node.ctx) == 'Load' and self.is_candidate(node.id):
                self.use(node.id)
                if role not in ('called', 'argument'):
                    self.blame('a test uses %s of the candidate without calling it' % node.id)
            elif _kind(node.ctx) == 'Load' and node.id not in self.bound and hasattr(_b, node.id):
                self.builtins.add(node.id)
            return
        if k == 'Attribute':
            self.visit_attribute(node)
            return
        if k == 'Call':
            self.visit_call(node)
            return
        if k == 'ClassDef':
            for base in node.bases:
                if _kind(base) == 'Name' and self.is_candidate(base.id):
                    self.blame('a test derives a class from %s of the candidate' % base.id)
        for c in _children(node):
            self.visit(c, '')

    def visit_attribute(self, node):
        base = node.value
        if _kind(base) == 'Name' and base.id in _MODULES and self.is_candidate(base.id) and base.id not in self.aliases:
            # In one program this would be the candidate's import; it is the same module.
            if base.id not in self.modules:
                self.modules.append(base.id)
            return
        if _kind(base) == 'Name' and self.is_candidate(base.id):
            self.use(base.id)
            self.blame('a test reads an attribute of %s of the candidate' % base.id)
        elif (node.attr not in _PLAIN or _kind(node.ctx) != 'Load') and self.from_candidate(base):
            self.blame('a test reads the attribute %s of a value that the candidate returned' % node.attr)
        if _kind(base) != 'Name' or not self.is_candidate(base.id):
            self.visit(base, '')

    def visit_call(self, node):
        f = node.func
        to_candidate = _kind(f) == 'Name' and self.is_candidate(f.id)
        if _kind(f) == 'Call' and self.from_candidate(f) or _kind(f) == 'Name' and f.id in self.tainted and not to_candidate:
            self.blame('a test calls a value that the candidate returned')
        self.visit(f, 'called')
        about_types = _kind(f) == 'Name' and f.id in ('isinstance', 'issubclass', 'type')
        for a in node.args + [kw.value for kw in node.keywords]:
            if _kind(a) == 'Name' and self.is_candidate(a.id) and about_types:
                self.blame('a test uses %s of the candidate as a class' % a.id)
            if to_candidate:
                self.hand_over(f.id, a)
            self.visit(a, 'argument')

    def hand_over(self, f, a):
        # What a test gives to the candidate must be plain data.
        for n in self.everything(a):
            k = _kind(n)
            if k == 'Lambda':
                self.blame('a test passes to %s a function of its own' % f)
            elif k == 'Name' and n.id in self.own:
                self.blame('a test passes to %s its own object %s' % (f, n.id))
            elif k == 'Call' and _kind(n.func) == 'Name' and n.func.id in self.own and n.func.id[:1].isupper():
                self.blame('a test passes to %s an object of its own class %s' % (f, n.func.id))
            elif k == 'Call' and _kind(n.func) == 'Name' and self.is_candidate(n.func.id) and n.func.id[:1].isupper():
                self.blame('a test passes to %s an object that %s of the candidate made' % (f, n.func.id))

    def everything(self, node):
        yield node
        for c in _children(node):
            for n in self.everything(c):
                yield n

_FUNCTIONS = ('FunctionDef', 'AsyncFunctionDef', 'Lambda', 'ClassDef')
_SCOPES = _FUNCTIONS + ('ListComp', 'SetComp', 'DictComp', 'GeneratorExp')

def _bound_by(node, found):
    k = _kind(node)
    if k == 'Name' and _kind(node.ctx) != 'Load':
        found.add(node.id)
    elif k in ('FunctionDef', 'AsyncFunctionDef', 'ClassDef') or k == 'ExceptHandler' and node.name:
        found.add(node.name)
    elif k == 'arg':
        found.add(node.arg)
    elif k in ('Import', 'ImportFrom'):
        found.update((a.asname or a.name).split('.')[0] for a in node.names)

def _module_names(node, top, used):
    # The names that the module itself binds (and, to be on the safe side, its comprehensions), and those that it uses.
    _bound_by(node, top)
    if _kind(node) == 'Name' and _kind(node.ctx) == 'Load':
        used.add(node.id)
    if _kind(node) == 'Global':
        top.update(node.names)
    for c in _children(node):
        if _kind(node) not in _FUNCTIONS:
            _module_names(c, top, used)
        else:
            _globals_of(c, top)

def _globals_of(node, top):
    if _kind(node) == 'Global':
        top.update(node.names)
    for c in _children(node):
        _globals_of(c, top)

# What else tests share with the code that they test, where both are one program. `patch` puts something in the place of a part of
# a module, which code in another process does not see; all else only makes a failure uncertain.
_WRITING_CALLS = {'write_text', 'write_bytes', 'mkdir', 'makedirs', 'mkdtemp', 'mkstemp', 'TemporaryDirectory', 'NamedTemporaryFile',
    'touch', 'copyfile', 'copytree', 'to_csv', 'to_excel', 'to_json', 'to_parquet', 'savefig', 'rmtree', 'chdir', 'extractall', 'symlink',
    'symlink_to', 'rename', 'unlink', 'remove_file', 'removedirs', 'rmdir', 'savetxt', 'imwrite', 'imsave'}
_STATE_CALLS = {'seed': 'seed random numbers', 'redirect_stdout': 'read what the code prints', 'redirect_stderr': 'read what the code prints',
    'assertLogs': 'capture its log', 'assertNoLogs': 'capture its log', 'assertWarns': 'catch its warnings',
    'assertWarnsRegex': 'catch its warnings', 'catch_warnings': 'catch its warnings', 'setlocale': 'change the locale', 'putenv': 'set environment variables'}
# Modules whose objects cross, or that say nothing of what the candidate returns.
_NO_VALUES = _MODULES | {'typing', 'unittest', 'pytest', 'mock', 'abc', 'builtins', 'solution', 'tests', '__future__', 'textwrap', 'inspect'}

class Shared:
    def __init__(self, trees, is_candidate):
        self.is_candidate = is_candidate
        self.patched, self.state, self.modules = '', '', set()
        self.mocks, self.patches = False, False
        for t in trees:
            self.walk(t)
        if self.mocks and self.patches:
            self.patched = 'replace parts of modules (`patch`)'

    def walk(self, node):
        k = _kind(node)
        if k in ('Import', 'ImportFrom'):
            names = [a.name for a in node.names] if k == 'Import' else [node.module or '']
            self.modules.update(n.split('.')[0] for n in names)
            whole = ' '.join(names + [a.name for a in node.names])
            self.mocks = self.mocks or 'mock' in whole
        elif k == 'arg':
            # Fixtures of pytest.
            self.mocks = self.mocks or node.arg in ('monkeypatch', 'mocker')
            self.patches = self.patches or node.arg in ('monkeypatch', 'mocker')
        elif k == 'Name' and node.id == 'patch' or k == 'Attribute' and node.attr == 'patch':
            self.patches = True
        elif k == 'Call':
            self.call(node)
        elif k in ('Assign', 'AugAssign'):
            for t in node.targets if k == 'Assign' else [node.target]:
                self.assign(t)
        for c in _children(node):
            self.walk(c)

    def note(self, what):
        self.state = self.state or what

    def call(self, node):
        f = node.func
        # A function of the candidate may have the name of one that writes files.
        if _kind(f) == 'Name' and self.is_candidate(f.id):
            return
        name = getattr(f, 'attr', None) or getattr(f, 'id', None) or ''
        if name in _WRITING_CALLS:
            self.note('create or change files (`%s`)' % name)
        elif name in _STATE_CALLS:
            self.note('%s (`%s`)' % (_STATE_CALLS[name], name))
        elif name == 'open':
            modes = [a for a in node.args[1:2]] + [kw.value for kw in node.keywords if kw.arg == 'mode']
            texts = [getattr(m, 'value', getattr(m, 's', '')) for m in modes]
            if any(type(t) is str and not set('wax+').isdisjoint(t) for t in texts):
                self.note('create or change files (`open`)')

    def assign(self, target):
        # `sys.stdout = ...`, `os.environ[...] = ...`
        base = target.value if _kind(target) == 'Subscript' else target
        if _kind(base) == 'Attribute' and _kind(base.value) == 'Name' and base.value.id in ('sys', 'os', 'builtins', 'solution'):
            self.note('change `%s.%s`' % (base.value.id, base.attr))

    def values(self):
        return sorted(m for m in self.modules - _NO_VALUES if m)

def _starred(node, found):
    # Names of builtins that are called with `*arguments`, as tests over a table do.
    if _kind(node) == 'Call' and _kind(node.func) == 'Name' and any(_kind(a) == 'Starred' for a in node.args):
        if hasattr(_b, node.func.id):
            found.add(node.func.id)
    for c in _children(node):
        _starred(c, found)

def _tested(node, found):
    # Names called at the outermost place of an assertion: `f` in `assert f(x) == y` and in `assert not f(x)`.
    if _kind(node) == 'Assert':
        test = node.test
        while _kind(test) in ('Compare', 'UnaryOp'):
            test = test.left if _kind(test) == 'Compare' else test.operand
        if _kind(test) == 'Call' and _kind(test.func) == 'Name':
            found.add(test.func.id)
    for c in _children(node):
        _tested(c, found)

def _look(trees, entry, check, shadowed):
    a = Analysis(entry, check)
    a.shadowed = shadowed
    for t in trees:
        a.bind(t)
    a.free_what_is_local(trees)
    while any([a.taint(t) for t in trees]):
        pass
    for t in trees:
        a.visit(t)
    if a.star:
        a.blame('a test imports every name of a module')
    if check and entry:
        a.use(entry)
    return a

def analyse(setup, tests, entry, check):
    # -> (what is known of the tests, their syntax trees)
    any_digits()
    trees = [compile(setup, 'setup.py', 'exec', _AST, True)]
    trees += [compile(t, 'tests.py', 'exec', _AST, True) for t in tests]
    a = _look(trees, entry, check, set())
    if not a.candidate and not a.aliases:
        # Tests that take nothing test a function which bears the name of a builtin.
        found = set()
        for t in trees:
            _tested(t, found)
        if not found - a.bound:
            starred = set()
            for t in trees:
                _starred(t, starred)
            found = starred if len(starred) == 1 else found
        a = _look(trees, entry, check, found - a.bound)
    return a, trees
