# about: bits beyond those of permission on a file that others could reach
# expect: passed
import os
def attempt(what, *args):
    try: what(*args)
    except OSError: pass
open('own', 'w').close()
os.chmod('own', 0o6755)
assert os.stat('own').st_mode & 0o777 == 0o755
