# about: joins the namespaces of its parent
# expect: sandbox_violation|exception
import ctypes, os
opened = 0
for ns in ('mnt', 'pid', 'user'):
    try: fd = os.open('/proc/%d/ns/%s' % (os.getppid(), ns), os.O_RDONLY)
    except OSError: continue
    opened += 1
    ctypes.CDLL(None).setns(fd, 0)
raise OSError('%d could be opened' % opened)
