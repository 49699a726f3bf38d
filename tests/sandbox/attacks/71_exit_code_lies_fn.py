# about: a SystemExit with an absurd code: the program ended early whatever it says
# mode: fn
# expect: exited
import sys
class Quit(SystemExit):
    code = 10 ** 400
def solve(a, b): raise Quit(10 ** 400)
