# about: the same towards the harness: no value, so tampering
# mode: fn
# expect: forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(fd, b'{"i": 0, "same": 18446744073709551615, "a": {"0": 3}}\n')
        except OSError: pass
    os._exit(0)
