# about: a link that leads now here and now there while its mode is changed
# expect: passed
import os
def attempt(what, *args):
    try: what(*args)
    except OSError: pass
import threading
open('mine', 'w').close()
stop = False
def swap():
    n = 0
    while not stop:
        n += 1
        os.symlink('@BAIT@' if n % 2 else 'mine', 'next')
        os.rename('next', 'link')
os.symlink('mine', 'link')
t = threading.Thread(target=swap)
t.start()
for _ in range(500): attempt(os.chmod, 'link', 0o600)
stop = True
t.join()
