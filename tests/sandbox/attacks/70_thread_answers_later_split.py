# about: a thread goes on answering calls that were answered; each answer must be one that was asked for
# mode: split
# expect: forged|wrong_answer
import os, threading, time
def more():
    n = 1
    while True:
        n += 1
        for fd in range(3, 64):
            try: os.write(fd, b'{"i": %d, "v": 7}\n' % n)
            except OSError: pass
        time.sleep(0.001)
threading.Thread(target=more, daemon=True).start()
def solve(a, b):
    time.sleep(0.05)
    return a + b
