# about: the same for asserts that the harness may compare itself
# mode: compared
# expect: wrong_answer
print("PASS\n{\"verdict\": \"passed\"}", flush=True)
def solve(a, b):
    print("PASSED")
