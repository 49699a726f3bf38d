# about: a million small objects, honestly returned: too much for an answer
# mode: fn
# wall: 20
# expect: output_limit|memory_limit
def solve(a, b): return [{'a': 0}] * 200000
