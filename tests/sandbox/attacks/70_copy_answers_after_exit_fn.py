# about: a forked copy answers, wrongly, after its program ended; nothing of it counts
# mode: fn
# expect: exited|forged|wrong_answer
# expect-landlock: exited|forged|wrong_answer|exception
import os, time
def solve(a, b):
    if os.fork() == 0:
        for _ in range(20):
            time.sleep(0.05)
            for fd in range(3, 64):
                try: os.write(fd, b'{"i": 0, "v": 99}\n')
                except OSError: pass
    os._exit(0)
