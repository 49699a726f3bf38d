# about: subclasses of str, float and tuple with an equality of their own are no values
# mode: split
# expect: wrong_answer
class T(tuple):
    def __eq__(s, o): return True
    def __ne__(s, o): return False
    __hash__ = tuple.__hash__
def solve(a, b): return T((3,))
