# about: searches all objects of its process for the tests and the token: only the judge has them
# mode: split
# expect: passed
import gc, sys
def search():
    seen, waiting, found = set(), [list(sys.modules.values()), gc.get_objects(), sys._getframe()], []
    while waiting and len(seen) < 400000:
        o = waiting.pop()
        if id(o) in seen: continue
        seen.add(id(o))
        if type(o) is str and ('assert ' + 'candidate' in o or 'token' == o[:5] and len(o) > 30): found.append(o)
        if type(o) is dict and type(o.get('token')) is str: found.append(o)
        waiting.extend(gc.get_referents(o))
    return found
def solve(a, b):
    found = [f for f in search() if 'search' not in str(f)]
    assert not found, found
    return a + b
