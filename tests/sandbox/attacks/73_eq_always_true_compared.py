# about: an object that equals everything
# mode: compared
# expect: wrong_answer
class Any(int):
    def __eq__(s, o): return True
    def __ne__(s, o): return False
    __hash__ = int.__hash__
def solve(a, b): return Any()
