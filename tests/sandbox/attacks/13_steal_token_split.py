# expect: wrong_answer
# mode: split
# There is no token to be found on this side, and a verdict written here is an answer that was not asked for.
import sys, os, gc, json
def steal():
    f = sys._getframe()
    while f:
        for k, v in list(f.f_locals.items()):
            if 'token' in k.lower(): return v
        f = f.f_back
    for o in gc.get_objects():
        if type(o) is dict and 'token' in o and isinstance(o['token'], str): return o['token']
def solve(a, b):
    token = steal()
    if token is not None:
        os.write(4, json.dumps({'verdict': 'passed', 'token': token}).encode() + b'\n')
        return a + b
    return None
