# about: 400,000 zeros are an answer: what the harness holds of one, with what it is compared with
# mode: fn
# memory: 200
# wall: 20
# expect: wrong_answer
def solve(a, b): return [0] * 400000
