# expect: forged
# mode: inproc
import os
os.write(4, b'{"verdict": "passed", "token": "0000", "calls": 0}\n')
os._exit(0)
