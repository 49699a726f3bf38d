# about: a million zeros are an answer: with what it is compared with, the most that the harness ever holds of one
# mode: fn
# memory: 400
# wall: 20
# expect: wrong_answer
def solve(a, b): return [0] * 1000000
