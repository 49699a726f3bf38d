# about: its runner's encoder is replaced so that every answer claims to be its own argument
# mode: split
# expect: wrong_answer|forged|exception
import gc, sys
for o in gc.get_objects():
    if type(o) is dict and '_DECODERS' in o and 'enc' in o:
        o['enc'] = lambda x, d=0: {'$opaque': 'int', 'truth': True}
        o['opaque'] = lambda x: {'$opaque': 'int', 'truth': True}
def solve(a, b): return 12345
