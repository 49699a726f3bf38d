# about: a false AssertionError, a false `check`, false comparisons
# mode: compared
# expect: wrong_answer|forged|exception
import builtins, sys
builtins.AssertionError = type("X", (Exception,), {})
builtins.check = lambda *a: None
builtins.all = builtins.any = builtins.isinstance = lambda *a: True
sys.excepthook = lambda *a: None
def solve(a, b): return a - b
