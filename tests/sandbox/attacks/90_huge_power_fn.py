# about: an integer that takes for ever, in one uninterruptible step
# mode: fn
# wall: 1
# expect: timeout|memory_limit
def solve(a, b): return 9 ** 9 ** 9
