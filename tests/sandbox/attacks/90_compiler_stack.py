# about: source that is too deep for the compiler is a fault of the source
# expect: exception|syntax_error|memory_limit|crashed(SIGSEGV)
compile('-' * 300000 + '1', 'x', 'eval')
