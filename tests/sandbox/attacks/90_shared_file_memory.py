# about: memory in a mapped file of its folder, which no data limit counts, ends where the folder ends
# expect: passed|exception|memory_limit|crashed(SIGBUS)
# expect-landlock: passed|exception|memory_limit|crashed(SIGBUS)|output_limit
import mmap, os, time
maps = []
for k in range(8):
    f = open('m%d' % k, 'w+b')
    try:
        f.truncate(16 << 20)
        m = mmap.mmap(f.fileno(), 16 << 20)
        for at in range(0, 16 << 20, 4096): m[at] = 1
        maps.append(m)
    except OSError: break
# Where the folder is only looked at, what is over at once is not seen.
if len(maps) == 8: time.sleep(5)
assert len(maps) < 8
