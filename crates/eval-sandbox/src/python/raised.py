# What the candidate raises, as the tests see it. Part of the judge.
#
# Python gives meanings to exceptions: StopIteration ends a loop, IndexError an old-style sequence, AttributeError means a
# missing attribute to `hasattr`. So an exception of the candidate has only those of its classes that the tests name. One
# without such a class ends the tests. And tests that go on after an exception pass only if a handler took it, of the tests or
# of a library that tests call: what the interpreter swallows was not expected.

import _thread

_AST = 0x400          # PyCF_ONLY_AST

# Functions of libraries with a handler that takes exceptions on behalf of tests, by module.
_LIBRARIES = {'unittest.case': ('testPartExecutor', 'handle', 'doCleanups', 'doClassCleanups'),
    'unittest.suite': ('_handleClassSetUp', '_tearDownPreviousClass', '_handleModuleFixture', '_handleModuleTearDown'),
    '_pytest.python_api': ('raises',), '_pytest.raises': ('raises',), '_pytest.runner': ('from_call',),
    'nose.tools.nontrivial': ('newfunc',), 'sympy.testing.pytest': ('raises',),
    'hypothesis.core': ('_execute_once_for_engine', 'run_engine', 'execute_once'), 'doctest': ('__run',),
    'concurrent.futures.thread': ('run',)}
# Functions that do so only for tests with one of these names.
_LIBRARIES_ASKED = {('threading', '_bootstrap_inner'): {'excepthook'}, ('multiprocessing.pool', 'worker'): {'error_callback', 'successful()'}}
# Calls and keywords by which tests get exceptions of tasks and threads without a handler: they expect any.
_COLLECTORS = {'exception()', 'return_exceptions', 'TaskGroup'}
_TAKE_ALL = {'expectedFailure', 'excepthook'}
# Calls in a `with` statement that take exceptions.
_MANAGERS = {'suppress', 'raises', 'subTest', 'ExitStack', 'AsyncExitStack'}
# Functions that return an array or a table for any argument.
_MAKE_ARRAYS = {'array', 'arange', 'linspace', 'zeros', 'ones', 'full', 'eye', 'identity', 'DataFrame', 'Series', 'tensor'}
_COROUTINE = 0x80     # CO_COROUTINE

def _parts(node):
    for field in node._fields:
        v = getattr(node, field, None)
        for x in v if isinstance(v, list) else [v]:
            if hasattr(x, '_fields'):
                yield x

def _below(node):
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(_parts(node))

def _lines(nodes):
    # The first and the last line of statements.
    found = [line for n in nodes for x in _below(n) for line in (getattr(x, 'lineno', None), getattr(x, 'end_lineno', None)) if line]
    return min(found), max(found)

def _dotted(node):
    names = []
    while type(node).__name__ == 'Attribute':
        names.append(node.attr)
        node = node.value
    return (node.id,) + tuple(reversed(names)) if type(node).__name__ == 'Name' else None

def _last_name(node):
    # `raises` of `pytest.raises(...)`.
    node = node.func if type(node).__name__ == 'Call' else node
    return getattr(node, 'attr', None) or getattr(node, 'id', None) or ''

def _builtin_classes(nodes):
    # The classes that these expressions name; `None` if one may be something other than a builtin class.
    found = []
    for node in nodes:
        k = type(node).__name__
        more = _builtin_classes(node.elts) if k == 'Tuple' else [getattr(builtins, node.id, None)] if k == 'Name' else None
        if more is None or not all(isinstance(c, type) for c in more):
            return None
        found += more
    return tuple(found)

class Mentions:
    # What tests name, and where they take exceptions. All is read from their source: an answer can't change it.
    def __init__(self, sources, modules):
        self.files, self.module = set(sources), type(sys)
        self.names, self.dotted, self.words, self.known = set(), set(), set(), set()
        # What import statements bind: (name, module, the attribute of it or nothing).
        self.imported, self.stars = {(name, name, None) for name in modules}, set()
        self.handlers, self.groups = [], False
        # `with` blocks; classes with an `__exit__`; what assignments and functions make from which names.
        self.blocks, self.managers, self.made = [], set(), []
        self.calls = []        # of a plain name: the name, and the arguments
        for file, source in sources.items():
            waiting = [(compile(source, file, 'exec', _AST, True), '<module>')]
            while waiting:
                node, scope = waiting.pop()
                parts, scope = self.look(node, file, scope)
                waiting.extend((part, scope) for part in parts)
        self.take_blocks()
        self.collects = not _COLLECTORS.isdisjoint(self.known)
        if self.collects or not _TAKE_ALL.isdisjoint(self.known):
            self.words.add('BaseException')

    def look(self, node, file, scope):
        # -> what to look at next, and the name of the code that it is part of
        k = type(node).__name__
        if k == 'Name':
            self.names.add(node.id)
            self.known.add(node.id)
        elif k == 'Attribute':
            self.known.add(node.attr)
            self.dotted.add(_dotted(node))
        elif k == 'keyword':
            self.known.add(node.arg)
        elif k == 'Call' and type(node.func).__name__ == 'Attribute':
            self.known.add(node.func.attr + '()')
        elif k == 'Call' and type(node.func).__name__ == 'Name':
            self.calls.append((node.func.id, node.args))
        elif k in ('Str', 'Constant'):
            value = node.s if k == 'Str' else node.value
            if type(value) is str:
                self.words.update(''.join(c if c.isalnum() or c == '_' else ' ' for c in value).split())
        elif k == 'ImportFrom' and not node.level:
            self.imported.update((a.asname or a.name, node.module, a.name) for a in node.names)
            self.stars.update(node.module for a in node.names if a.name == '*')
        elif k == 'Import':
            self.imported.update((a.asname, a.name, None) if a.asname else (a.name.split('.')[0],) * 2 + (None,) for a in node.names)
        elif k == 'ClassDef':
            scope = node.name
            if any(getattr(s, 'name', None) in ('__exit__', '__aexit__') for s in node.body):
                self.managers.add(node.name)
            self.made.append(({node.name}, node.bases))
        elif k == 'Assign':
            self.made.append(({_last_name(t) for t in node.targets}, [node.value]))
        elif k == 'Raise':
            return self.raised(node), scope
        elif k in ('FunctionDef', 'AsyncFunctionDef'):
            self.exit_of(node)
            self.made.append(({node.name}, [x.value for x in _below(node) if type(x).__name__ == 'Return' and x.value is not None]))
            scope = node.name
        elif k == 'Lambda':
            scope = '<lambda>'
        elif k in ('Try', 'TryStar'):
            self.groups = self.groups or k == 'TryStar'
            self.handle(node, file, scope)
        elif k in ('With', 'AsyncWith'):
            self.blocks.append((file, scope, _lines(node.body), [item.context_expr for item in node.items]))
        return _parts(node), scope

    def take_blocks(self):
        # The `with` blocks that may take exceptions: by a manager that is known to, or one that the tests define. Those for
        # files, locks or streams take none.
        def takes(nodes):
            names = {_last_name(x) for n in nodes for x in _below(n) if type(x).__name__ in ('Name', 'Attribute')}
            return not names.isdisjoint(self.managers) or any(n in _MANAGERS or n.startswith('assertRaises') for n in names)
        found = -1
        while found != len(self.managers):
            found = len(self.managers)
            for names, values in self.made:
                if not names <= self.managers and takes(values):
                    self.managers |= names
        for file, scope, lines, managers in self.blocks:
            for m in managers:
                if takes([m]):
                    name, args = _last_name(m), m.args if type(m).__name__ == 'Call' else []
                    one = name == 'raises' or name.startswith('assertRaises')
                    known = _builtin_classes(args[:1] if one else args) if args and (one or name == 'suppress') else None
                    self.handlers.append((file, scope, lines, known if name not in self.managers else None))

    def raised(self, node):
        # What tests raise themselves is not what they expect.
        parts = []
        for e in (node.exc, node.cause):
            if type(e).__name__ == 'Call':
                parts += e.args + e.keywords
            elif e is not None and type(e).__name__ not in ('Name', 'Attribute'):
                parts.append(e)
        return parts

    def exit_of(self, node):
        # An `__exit__` that looks at the exception may expect any.
        if node.name in ('__exit__', '__aexit__'):
            a = node.args
            given = {x.arg for x in (getattr(a, 'posonlyargs', []) + a.args)[1:] + [a.vararg] if x is not None}
            if any(type(x).__name__ == 'Name' and x.id in given for s in node.body for x in _below(s)):
                self.words.add('BaseException')

    def handle(self, node, file, scope):
        types = [h.type for h in node.handlers]
        if None in types:
            self.words.add('BaseException')
        if types:
            # A name of something other than a builtin class may mean any exception.
            known = _builtin_classes(types) if None not in types and type(node).__name__ == 'Try' else None
            self.handlers.append((file, scope, _lines(node.body), known))

    def find(self, path):
        # What a name of the tests means by their imports or as a builtin, never by a binding that an answer can reach.
        found = [getattr(builtins, path[0], None)]
        for name, module, attribute in self.imported:
            if name == path[0]:
                m = sys.modules.get(module)
                found.append(m if attribute is None else getattr(m, attribute, sys.modules.get('%s.%s' % (module, attribute))))
        found += [getattr(sys.modules.get(module), path[0], None) for module in self.stars]
        for name in path[1:]:
            found = [getattr(x, name, None) for x in found if type(x) is self.module]
        return found

    def paths(self):
        return {(name,) for name in self.names} | {(name,) for name, _, _ in self.imported} | {p for p in self.dotted if p is not None}

    def imports(self, x):
        return any(found is x for p in self.paths() for found in self.find(p))

    def hand_arrays(self, names):
        # Whether a call of one of these names has an array made for it, whatever the answers are.
        def makes(node):
            return type(node).__name__ == 'Call' and type(node.func).__name__ == 'Attribute' and node.func.attr in _MAKE_ARRAYS
        arrays = {name for found, values in self.made if any(makes(v) for v in values) for name in found}
        return any(name in names and any(makes(a) or getattr(a, 'id', None) in arrays for a in args) for name, args in self.calls)

    def imports_module(self, name):
        modules = [module for _, module, _ in self.imported] + list(self.stars)
        modules += ['%s.%s' % (module, attribute) for _, module, attribute in self.imported if attribute]
        return any(m == name or m.startswith(name + '.') for m in modules)

    def spells(self, x):
        # Whether the tests write this method of a builtin class out, such as `str.upper`.
        classes = [(getattr(builtins, p[0], None), p[1]) for p in self.dotted if p is not None and len(p) == 2]
        return any(isinstance(c, type) and getattr(c, name, None) == x for c, name in classes)

    def classes(self):
        # The exceptions that the tests name, without those that they define: the candidate can't raise these.
        found = []
        for x in [getattr(builtins, name, None) for name in self.words] + [x for p in self.paths() for x in self.find(p)]:
            if issubclass(type(x), type) and issubclass(x, BaseException) and x.__module__ != 'tests' and x not in found:
                found.append(x)
        return found

    def took(self, err):
        # Whether the frame that an exception came to last has a handler around the line.
        tb = err.__traceback__
        if tb is None:
            return err._cleared
        code, module = tb.tb_frame.f_code, str(tb.tb_frame.f_globals.get('__name__'))
        if self.collects and (code.co_flags & _COROUTINE or module.split('.')[0] == 'asyncio'):
            return True        # a task keeps what comes out of its coroutine
        if code.co_filename not in self.files:
            return (code.co_filename == '<string>' or code.co_name in _LIBRARIES.get(module, ())
                or not self.known.isdisjoint(_LIBRARIES_ASKED.get((module, code.co_name), ())))
        return any(file == code.co_filename and scope == code.co_name and first <= tb.tb_lineno <= last
            and (takes is None or isinstance(err, takes)) for file, scope, (first, last), takes in self.handlers)

def _member_names(group):
    for e in group.exceptions:
        for t in type(e).__mro__:
            yield t.__name__
        if isinstance(e, _GROUP):
            for name in _member_names(e):
                yield name

def named_form(e, classes, groups):
    # What the candidate raised, with the classes that the tests name; `None` if they name none of its classes. `groups`: they
    # look into groups of exceptions.
    names, bases = class_names(e), []
    for name in names:
        bases += [c for c in classes if c.__name__ == name and c not in bases]
    bases = [c for c in bases if not any(d is not c and issubclass(d, c) for d in bases)]
    group = group_from(e, 0)
    if group is not None and (bases or groups and not {c.__name__ for c in classes}.isdisjoint(_member_names(group))):
        return group
    if not bases:
        return None
    message = text(e.get('message'))
    args = arguments(e)
    err = None
    if bases[0].__name__ == names[0] and len(bases) == 1:
        err = made_from(bases[0], args, message) or made_from(bases[0], [message], None)
    return err or _likeness(names[0], bases, [message] if args is None else args, message, error_from(e))

def _likeness(name, bases, args, message, near):
    # An exception of these classes and no others, which looks like `near` otherwise.
    name = name.encode('ascii', 'replace').decode().replace('\0', '?') or 'Exception'
    body = {'__str__': lambda self: message, '__getattr__': lambda self, n: getattr(near, n), '__module__': 'builtins'}
    # Not every pair of classes can have a class in common, nor can every class be made from these arguments.
    for parents in [tuple(bases)] + [(b,) for b in bases]:
        for more in {}, {'__init__': lambda self, *a, **k: None}:
            try:
                t = type(name, parents, dict(body, **more))
                err = t(*args)
                if isinstance(err, t):
                    return err
            except Exception:
                pass
    return None

def small(n):
    return type(n) is int and -1 << 63 <= n < 1 << 63

def as_reported(e):
    # Bounded: the verdict must fit into a line, whatever the candidate sent.
    e = e if type(e) is dict else {}
    r = {'type': text(e.get('type'))[:200], 'message': text(e.get('message'))[:2000], 'traceback': text(e.get('traceback'))[:4000],
        'mro': [text(n)[:200] for n in e['mro'][:8]] if type(e.get('mro')) is list else []}
    if small(e.get('code')):
        r['code'] = e['code']
    return r

# -- of the tests that run

# `index` and `file` of the test, its `source`, all `sources` by file, and the `modules` that they use without importing them.
RUNNING = {'index': 0, 'file': 'setup.py', 'source': '', 'sources': {}, 'modules': []}
DELIVERED, KEPT = [], []
_mentions = None

def mentions():
    # Read when they are needed first, which is seldom.
    global _mentions
    if _mentions is None:
        _mentions = Mentions(RUNNING['sources'], RUNNING['modules'])
    return _mentions

def frames_of_tests():
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename in RUNNING['sources']:
            yield frame
        frame = frame.f_back

def where(line):
    lines = RUNNING['source'].splitlines()
    text_of_line = lines[line - 1].strip()[:1000] if 0 < line <= len(lines) else ''
    return {'index': RUNNING['index'], 'line': line, 'source': text_of_line}

def place():
    lines = [frame.f_lineno for frame in frames_of_tests() if frame.f_code.co_filename == RUNNING['file']]
    return where(lines[0] if lines else 0)

def clearing(err):
    # Removing the traceback counts as handling the exception: `unittest` removes it from those that it expects.
    def with_traceback(tb):
        err._cleared = err._cleared or tb is None
        return BaseException.with_traceback(err, tb)
    return with_traceback

def raise_as_named(e):
    e = e if type(e) is dict else {}
    err = named_form(e, mentions().classes(), mentions().groups)
    if err is None:
        out('raised', e=as_reported(e), **place())
    err._remote, err._cleared, err.with_traceback = as_reported(e), False, clearing(err)
    DELIVERED.append((_thread.get_ident(), err))
    raise err

def may_come_again(err):
    # Whether a future or a task holds an exception, which it raises again when it is asked for its result.
    tb = err.__traceback__
    return tb is not None and (tb.tb_frame.f_code.co_filename not in RUNNING['sources'] or tb.tb_frame.f_code.co_flags & _COROUTINE)

def settle(over=False):
    # While an exception is on its way, which handler takes it is not known yet. `over`: the tests have ended, all threads'.
    if over:
        DELIVERED.extend(KEPT)
    if DELIVERED and (over or sys.exc_info()[1] is None):
        own = _thread.get_ident()
        for entry in list(DELIVERED):
            if over or entry[0] == own:
                DELIVERED.remove(entry)
                if may_come_again(entry[1]):
                    KEPT.append(entry)
                if not mentions().took(entry[1]):
                    out('raised', e=entry[1]._remote, **place())
