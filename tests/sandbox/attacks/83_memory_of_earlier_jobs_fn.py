# about: searches its own memory, which a warm interpreter was copied into, for programs that ran before it
# mode: fn
# expect: passed
import re
needles = [b'return a ' + b'- b', b'sum(range(' + b'10)) == 45', b'left' + b'-behind']
found = []
try: maps = open('/proc/self/maps').read()
except OSError: maps = ''
for line in maps.splitlines():
    m = re.match(r'([0-9a-f]+)-([0-9a-f]+) rw', line)
    if not m or '[stack' in line: continue
    lo, hi = int(m.group(1), 16), int(m.group(2), 16)
    try:
        with open('/proc/self/mem', 'rb', 0) as f:
            while lo < hi:
                f.seek(lo)
                part = f.read(min(1 << 20, hi - lo))
                found += [n for n in needles[:2] if n in part]
                lo += 1 << 20
    except (OSError, ValueError): pass
def solve(a, b):
    # What it built itself stands there as it builds it, so one of each is its own.
    assert found.count(needles[0]) <= 4 and found.count(needles[1]) <= 4, found
    import gc
    texts = [o for o in gc.get_objects() if type(o) is dict and type(o.get('code')) is str and 'solve' in o['code']]
    assert not [t for t in texts if 'needles' not in t['code']], texts
    return a + b
