# about: __class__ says int and every comparison is true: its class is not what it says
# mode: split
# expect: wrong_answer
class Liar:
    __class__ = int
    def __eq__(s, o): return True
    def __ne__(s, o): return False
    def __hash__(s): return 3
    def __index__(s): return 3
    def __int__(s): return 3
def solve(a, b): return Liar()
