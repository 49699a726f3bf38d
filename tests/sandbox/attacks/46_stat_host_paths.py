# expect: passed
# mode: script
import os
R = os.sep + "root"
seen = [p for p in (R + "/.ssh", R + "/.bashrc", "/home", "/var/lib", "/run", "/sys/kernel") if os.path.lexists(p)]
print(seen)
assert not seen, seen
