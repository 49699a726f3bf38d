# about: stdout and stderr of a function at once
# mode: fn
# expect: output_limit
import sys
def solve(a, b):
    while True:
        sys.stdout.write('x' * 100000); sys.stderr.write('y' * 100000)
