# about: a text full of brackets is one value, however many brackets
# mode: fn
# expect: wrong_answer
def solve(a, b): return '{[,: ' * 400000
