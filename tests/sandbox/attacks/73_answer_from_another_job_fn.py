# about: keeps what it was asked for in every place that might outlive it; the honest program afterwards must find nothing
# mode: fn
# expect: passed
import os, sys, builtins
def solve(a, b):
    builtins.left_behind = os.environ['LEFT_BEHIND'] = str((a, b))
    sys.modules['left_behind'] = type(sys)('left_behind')
    for path in ('/tmp/left-behind', 'left-behind', '/dev/shm/left-behind', '/var/tmp/left-behind'):
        try: open(path, 'w').write('x')
        except OSError: pass
    return a + b
