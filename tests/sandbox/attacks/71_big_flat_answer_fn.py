# about: three million zeros in one answer: wrong or too much, and the harness' memory stays bounded
# mode: fn
# wall: 20
# expect: wrong_answer|output_limit|memory_limit|forged
def solve(a, b): return [0] * 3000000
