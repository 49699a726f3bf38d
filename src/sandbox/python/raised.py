# What the candidate raises, as the tests see it. Part of the judge.
#
# Python gives meanings to exceptions: StopIteration ends a loop, IndexError an old-style sequence, AttributeError means a
# missing attribute to `hasattr`. So an exception of the candidate has only those of its classes that the tests name. One
# without such a class ends the tests. And tests that go on after an exception pass only if a handler took it, of the tests or
# of a library that tests call: what the interpreter swallows was not expected.

import _thread

_AST = 0x400          # PyCF_ONLY_AST

# Modules whose handlers take exceptions on behalf of tests.
_LIBRARIES = ('unittest', 'pytest', '_pytest', 'nose', 'hypothesis', 'doctest', 'contextlib', 'asyncio', 'concurrent.futures',
    'multiprocessing.pool', 'numpy.testing', 'sympy.testing')
# Calls and keywords by which tests get exceptions without a handler, and what hides where an exception went.
_COLLECTORS = {'exception()', 'return_exceptions', 'expectedFailure', 'excepthook', 'unraisablehook', '__traceback__'}

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

class Mentions:
    # What tests name, and where they take exceptions.
    def __init__(self, sources):
        self.files, self.module = set(sources), type(sys)
        self.names, self.dotted, self.imported, self.words, self.known = set(), set(), set(), set(), set()
        self.handlers, self.groups = [], False
        for file, source in sources.items():
            waiting = [(compile(source, file, 'exec', _AST, True), '<module>')]
            while waiting:
                node, scope = waiting.pop()
                parts, scope = self.look(node, file, scope)
                waiting.extend((part, scope) for part in parts)
        self.collects = not _COLLECTORS.isdisjoint(self.known)
        if self.collects:
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
        elif k in ('Str', 'Constant'):
            value = node.s if k == 'Str' else node.value
            if type(value) is str:
                self.words.update(''.join(c if c.isalnum() or c == '_' else ' ' for c in value).split())
        elif k == 'ImportFrom':
            self.imported.update(a.asname or a.name for a in node.names)
        elif k == 'Raise':
            return self.raised(node), scope
        elif k in ('FunctionDef', 'AsyncFunctionDef'):
            self.exit_of(node)
            scope = node.name
        elif k == 'Lambda':
            scope = '<lambda>'
        elif k in ('Try', 'TryStar'):
            self.groups = self.groups or k == 'TryStar'
            self.handle(node, file, scope)
        elif k in ('With', 'AsyncWith'):
            self.handlers.append((file, scope, _lines(node.body), None))
        return _parts(node), scope

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
        takes = []
        for h in node.handlers:
            if h.type is None:
                self.words.add('BaseException')
            for x in _below(h.type) if h.type is not None else []:
                if type(x).__name__ in ('Name', 'Attribute'):
                    takes.append(getattr(builtins, x.id if type(x).__name__ == 'Name' else x.attr, None))
        sure = all(isinstance(c, type) for c in takes) and all(h.type is not None for h in node.handlers)
        if node.handlers:
            # A name of something other than a builtin class may mean any exception.
            known = tuple(takes) if sure and type(node).__name__ == 'Try' else None
            self.handlers.append((file, scope, _lines(node.body), known))

    def find(self, path, scopes):
        x = getattr(builtins, path[0], None)
        for scope in reversed(scopes):
            x = scope.get(path[0], x)
        for name in path[1:]:
            x = getattr(x, name, None) if type(x) is self.module else None
        return x

    def imports(self, x, scopes):
        paths = [(name,) for name in self.imported] + [p for p in self.dotted if p is not None]
        return any(self.find(p, scopes) is x for p in paths)

    def classes(self, scopes):
        # The exceptions that the tests name, without those that they define: the candidate can't raise these.
        found = []
        paths = [(name,) for name in self.names] + [p for p in self.dotted if p is not None]
        for x in [getattr(builtins, name, None) for name in self.words] + [self.find(p, scopes) for p in paths]:
            if isinstance(x, type) and issubclass(x, BaseException) and x.__module__ != 'tests' and x not in found:
                found.append(x)
        return found

    def took(self, err):
        # Whether the frame that an exception came to last has a handler around the line.
        tb = err.__traceback__
        if self.collects or tb is None:
            return self.collects or err._cleared
        code, module = tb.tb_frame.f_code, str(tb.tb_frame.f_globals.get('__name__'))
        if code.co_filename not in self.files:
            return code.co_filename == '<string>' or any(module == n or module.startswith(n + '.') for n in _LIBRARIES)
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

def as_reported(e):
    e = e if type(e) is dict else {}
    r = {'type': text(e.get('type')), 'message': text(e.get('message')), 'traceback': text(e.get('traceback')),
        'mro': [text(n) for n in e['mro'][:8]] if type(e.get('mro')) is list else []}
    if type(e.get('code')) is int:
        r['code'] = e['code']
    return r

# -- of the tests that run

# `index` and `file` of the test, its `source`, all `sources` by file, and the tests' `globals`.
RUNNING = {'index': 0, 'file': 'setup.py', 'source': '', 'sources': {}, 'globals': {}}
DELIVERED = []
_mentions = None

def mentions():
    # Read when they are needed first, which is seldom.
    global _mentions
    if _mentions is None:
        _mentions = Mentions(RUNNING['sources'])
    return _mentions

def frames_of_tests():
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename in RUNNING['sources']:
            yield frame
        frame = frame.f_back

def scopes():
    return [frame.f_locals for frame in frames_of_tests()] + [RUNNING['globals']]

def where(line):
    lines = RUNNING['source'].splitlines()
    text_of_line = lines[line - 1].strip()[:1000] if 0 < line <= len(lines) else ''
    return {'index': RUNNING['index'], 'line': line, 'source': text_of_line}

def place():
    lines = [frame.f_lineno for frame in frames_of_tests() if frame.f_code.co_filename == RUNNING['file']]
    return where(lines[0] if lines else 0)

def clearing(err):
    # Who takes the traceback away has the exception. `unittest` does so.
    def with_traceback(tb):
        err._cleared = err._cleared or tb is None
        return BaseException.with_traceback(err, tb)
    return with_traceback

def raise_as_named(e):
    e = e if type(e) is dict else {}
    err = named_form(e, mentions().classes(scopes()), mentions().groups)
    if err is None:
        out('raised', e=as_reported(e), **place())
    err._remote, err._cleared, err.with_traceback = as_reported(e), False, clearing(err)
    DELIVERED.append((_thread.get_ident(), err))
    raise err

def settle(over=False):
    # While an exception is on its way, which handler takes it is not known yet. `over`: the tests have ended, all threads'.
    if DELIVERED and (over or sys.exc_info()[1] is None):
        own = _thread.get_ident()
        for entry in list(DELIVERED):
            if over or entry[0] == own:
                DELIVERED.remove(entry)
                if not mentions().took(entry[1]):
                    out('raised', e=entry[1]._remote, **place())
