# about: shared memory of /dev/zero, which no data limit counts, is the job's all the same
# expect: memory_limit|exception
import mmap, os, time
f = os.open('/dev/zero', os.O_RDWR)
m = mmap.mmap(f, 1 << 30, mmap.MAP_SHARED)
b = b'x' * (1 << 20)
for at in range(0, 1 << 30, 1 << 20): m[at:at + (1 << 20)] = b
time.sleep(1)
