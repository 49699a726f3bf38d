# about: a million zeros are an answer, and the harness' memory stays bounded with the largest there may be
# mode: fn
# wall: 20
# expect: wrong_answer
def solve(a, b): return [0] * 1000000
