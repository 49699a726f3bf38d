# about: every way of changing the content or the name of a file of the very user that it runs as
# expect: passed
import os, shutil, socket
bait, folder = '@BAIT@', os.path.dirname('@BAIT@')
done = []
def attempt(name, f):
    try: f()
    except (OSError, shutil.Error): return
    done.append(name)
for mode in ('r', 'r+', 'w', 'a', 'x'): attempt('open ' + mode, lambda: open(bait, mode).close())
attempt('truncate', lambda: os.truncate(bait, 0))
attempt('unlink', lambda: os.unlink(bait))
attempt('rename', lambda: os.rename(bait, bait + '2'))
attempt('link', lambda: os.link(bait, 'hard'))
attempt('move in', lambda: os.rename(bait, 'moved'))
attempt('mkdir', lambda: os.mkdir(folder + '/left-behind'))
attempt('symlink', lambda: os.symlink('/etc', folder + '/left-behind'))
attempt('fifo', lambda: os.mkfifo(folder + '/left-behind'))
attempt('create', lambda: open(folder + '/left-behind', 'w').close())
attempt('tmpfile', lambda: os.open(folder, os.O_TMPFILE | os.O_RDWR))
attempt('rmtree', lambda: shutil.rmtree(folder))
attempt('list', lambda: os.listdir(folder))
assert not done, done
