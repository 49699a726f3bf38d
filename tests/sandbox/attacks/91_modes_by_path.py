# about: modes of files of the host, by every path that leads there
# expect: passed
import os
def attempt(what, *args):
    try: what(*args)
    except OSError: pass
os.symlink('@BAIT@', 'link')
os.symlink(os.path.dirname('@BAIT@'), 'folder')
for path in ('@BAIT@', 'link', 'folder/bait', 'folder', os.path.dirname('@BAIT@'), '/proc/self/cwd/link', '/usr', '/dev/null', '..', '../..'): attempt(os.chmod, path, 0o600)
