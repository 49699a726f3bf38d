# Says, from the tests alone, where they can run, and compiles those that only compare. The verdict goes to descriptor 4: first
# the line that every plan has, then one that says whether the tests were compiled.
import posix

def tell(message):
    b = to_json(message).encode() + b'\n'
    while b:
        b = b[posix.write(4, b):]

def opaque(x):
    return refuse(x)

def plan():
    request = from_json(REQUEST)
    setup, tests = request['setup'], request['tests']
    try:
        a, trees = analyse(setup, tests, request['entry'], request['check'])
    except BaseException as e:
        tell({'error': error_of(e)})
        return
    tell({'why': a.why, 'names': a.candidate, 'modules': a.modules})
    compiled, not_compiled = None, ''
    if not a.why:
        sys.path[:] = [p for p in sys.path if p] + request['site']
        try:
            compiled = compile_tests(a, setup, tests, trees)
        except (Exception, RecursionError) as e:
            not_compiled = str(e)[:200]
    tell({'compiled': compiled, 'not_compiled': not_compiled})

plan()
