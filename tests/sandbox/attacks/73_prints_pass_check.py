# about: the same in one interpreter
# mode: check
# expect: wrong_answer
print("PASS\n{\"verdict\": \"passed\"}", flush=True)
def solve(a, b):
    print("PASSED")
