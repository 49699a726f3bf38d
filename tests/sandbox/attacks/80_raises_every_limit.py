# about: raises each limit, soft and hard, and drops into no core file
# expect: passed
import resource
for name in ('CORE', 'CPU', 'DATA', 'FSIZE', 'NOFILE', 'NPROC', 'MEMLOCK'):
    r = getattr(resource, 'RLIMIT_' + name)
    soft, hard = resource.getrlimit(r)
    assert hard != resource.RLIM_INFINITY, name
    for more in ((soft, hard + 1), (hard + 1, hard + 1), (resource.RLIM_INFINITY,) * 2):
        try: resource.setrlimit(r, more)
        except (OSError, ValueError): continue
        assert False, name
