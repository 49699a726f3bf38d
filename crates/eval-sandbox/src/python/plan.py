# Says, from the tests alone, where they can run, and compiles those that only compare. The verdict goes to descriptor 4: first
# the line that every plan has, then one that says whether the tests were compiled.
import marshal, posix

def tell(message):
    b = to_json(message).encode() + b'\n'
    while b:
        b = b[posix.write(4, b):]

def opaque(x):
    return refuse(x)

def main(request):
    request = from_json(request)
    setup, tests = request['setup'], request['tests']
    try:
        a, trees = analyse(setup, tests, request['entry'], request['check'])
    except BaseException as e:
        tell({'error': error_of(e)})
        posix._exit(0)
    shared = Shared(trees, a.is_candidate)
    tell({'why': a.why, 'names': a.candidate, 'modules': a.modules, 'builtins': sorted(a.builtins), 'patched': shared.patched,
        'state': shared.state, 'values': shared.values()})
    compiled, not_compiled = None, ''
    if not a.why:
        sys.path[:] = [p for p in sys.path if p] + [p for p in request['site'] if p not in sys.path]
        try:
            compiled = compile_tests(a, setup, tests, trees)
        except (Exception, RecursionError) as e:
            not_compiled = str(e)[:200]
    tell({'compiled': compiled, 'not_compiled': not_compiled, 'code': [] if compiled or a.why else codes(setup, tests)})
    posix._exit(0)

def codes(setup, tests):
    # What a judge of these tests runs, so that it need not compile it for each candidate.
    parts = [('setup.py', setup)] + [('test_%d.py' % i, t) for i, t in enumerate(tests)]
    try:
        return [marshal.dumps(compile(t, f, 'exec', dont_inherit=True)).hex() for f, t in parts]
    except Exception:
        return []      # a judge will say it at its place
