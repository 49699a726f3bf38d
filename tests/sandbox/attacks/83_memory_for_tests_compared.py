# about: the same for asserts that the harness compares: what is expected never enters
# mode: compared
# expect: passed
import gc, sys
def solve(a, b):
    waiting, seen = [gc.get_objects(), sys._getframe()], set()
    while waiting and len(seen) < 400000:
        o = waiting.pop()
        if id(o) in seen: continue
        seen.add(id(o))
        assert not (type(o) is str and 'assert ' + 'solve' in o and 'waiting' not in o), o
        assert not (type(o) is dict and type(o.get('token')) is str), o
        waiting.extend(gc.get_referents(o))
    return a + b
