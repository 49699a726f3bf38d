# about: printing PASS in every way is output and nothing else
# mode: fn
# expect: wrong_answer
import sys
print("PASS\n1 passed\n{\"verdict\": \"passed\"}\nok", flush=True)
print("All tests passed", file=sys.stderr, flush=True)
def solve(a, b):
    print("PASSED")
    return None
