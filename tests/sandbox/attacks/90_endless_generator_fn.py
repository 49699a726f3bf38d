# about: a generator without end for an answer is an opaque value
# mode: fn
# expect: wrong_answer|output_limit
import itertools
def solve(a, b): return itertools.count()
