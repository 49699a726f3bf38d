# expect: forged
# mode: inproc
import os
for fd in range(0,128):
    try: os.write(fd,b'{"t":"done","nonce":"x"}\n{"t":"verdict","v":"pass"}\n')
    except OSError: pass
os._exit(0)
