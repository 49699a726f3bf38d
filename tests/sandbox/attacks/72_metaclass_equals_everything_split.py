# about: a class that equals every class: it lies to its own runner only, and the judge gets no object at all
# mode: split
# expect: wrong_answer|forged|exception
class Meta(type):
    def __eq__(c, o): return True
    def __hash__(c): return hash(int)
    def mro(c): return [c, object]
class Liar(metaclass=Meta):
    def __eq__(s, o): return True
    def __iter__(s): return iter(())
def solve(a, b): return Liar()
