# about: the same with a judge
# mode: split
# expect: wrong_answer|output_limit|exception
def solve(a, b):
    while True: yield 3
