# about: a container that never ends of iterating while it is encoded
# mode: fn
# wall: 2
# expect: timeout|wrong_answer|memory_limit|exception|output_limit
class L(list):
    def __iter__(s):
        while True: yield 3
def solve(a, b): return L([1])
