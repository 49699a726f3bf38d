# about: the same while the program is loaded: no hang and no pass
# mode: fn
# wall: 10
# expect: syntax_error|exception|memory_limit|crashed(SIGSEGV)
def solve(a, b): return ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a + b
