# about: folders without rights, names of every byte, and depth beyond the longest path, to be cleared away
# wall: 10
# expect: passed|exception
# expect-landlock: passed|exception|output_limit
import os
top = os.getcwd()
for name in (b'-rf', b'*', b'\xff\xfe', b'new\nline', b'x' * 255): open(name, 'w').close()
try:
    for _ in range(1500):
        os.mkdir('d' * 20); os.chdir('d' * 20)
except OSError: pass
os.chdir(top)
os.makedirs('locked/inner'); open('locked/inner/file', 'w').close()
try: os.chmod('locked/inner', 0); os.chmod('locked', 0); os.chmod('.', 0)
except OSError: pass
