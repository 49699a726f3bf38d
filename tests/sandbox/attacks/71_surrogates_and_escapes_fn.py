# about: lone surrogates escaped in keys, index and value
# mode: fn
# expect: forged|wrong_answer
import os
def solve(a, b):
    for fd in range(3, 64):
        try: os.write(b'{"i": 0, "\\ud800": 1, "v": "\\udfff\\u0000"}\n' and fd, b'{"i": 0, "\\ud800": 1, "v": "\\udfff\\u0000"}\n')
        except OSError: pass
    os._exit(0)
