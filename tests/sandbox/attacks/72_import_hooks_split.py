# about: hooks of the import system and a false `builtins`, all on the wrong side
# mode: split
# expect: wrong_answer|exception
import sys, builtins
class Hook:
    def find_spec(self, name, path=None, target=None): raise SystemExit(0)
sys.meta_path.insert(0, Hook())
sys.modules['builtins'] = sys.modules['sys'] = Hook()
builtins.__import__ = lambda *a, **k: Hook()
builtins.isinstance = lambda *a: True
def solve(a, b): return a - b
