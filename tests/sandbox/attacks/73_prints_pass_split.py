# about: the same with a judge
# mode: split
# expect: wrong_answer
print("PASS\n{\"verdict\": \"passed\"}", flush=True)
def solve(a, b):
    print("PASSED")
