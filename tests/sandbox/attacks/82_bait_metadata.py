# about: mode, owner, times and attributes of such a file, which no Landlock rule covers
# expect: passed|exception
# expect-landlock: passed|exception|sandbox_violation
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
bait, folder = b'@BAIT@', os.path.dirname(b'@BAIT@')
me, done = os.getuid(), []
os.symlink(bait, b'way')
for path in (bait, folder, b'way'):
    for name, f in {'chmod': lambda: os.chmod(path, 0o7777), 'chown': lambda: os.chown(path, me, -1), 'lchown': lambda: os.lchown(path, -1, -1) if path != b'way' else os.chown(path, -1, -1),
            'utime': lambda: os.utime(path, (1, 1)), 'setxattr': lambda: os.setxattr(path, b'user.left', b'x'), 'removexattr': lambda: os.removexattr(path, b'user.left')}.items():
        try: f(); done.append((name, path))
        except OSError: pass
    for number in (452, 463, 469):         # fchmodat2, setxattrat, file_setattr
        if libc.syscall(number, -100, path, 0o7777, 0, 0, 0) == 0: done.append((number, path))
assert not done, done
