# about: pickling hooks that would run where the value is unpickled: nothing is ever pickled
# mode: split
# expect: wrong_answer
class P:
    def __reduce__(s): return (print, ('in the judge',))
    def __getstate__(s): return 3
    def __eq__(s, o): return True
def solve(a, b): return P()
