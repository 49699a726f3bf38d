# expect: wrong_answer
# mode: split
class Any:
    def __eq__(s, o): return True
    def __ne__(s, o): return False
    def __bool__(s): return True
def solve(a, b): return Any()
