# expect: passed
# mode: script
import os
assert os.getuid()!=0 and os.getresuid()[1]!=0
for u in (0,):
    try: os.setuid(u); assert False
    except OSError: pass
