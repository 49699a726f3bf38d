# about: a megabyte that unpacks to a gigabyte
# wall: 20
# expect: memory_limit
import zlib
c = zlib.compressobj(1)
small = b''.join(c.compress(bytes(1 << 20)) for _ in range(1024)) + c.flush()
zlib.decompress(small)
