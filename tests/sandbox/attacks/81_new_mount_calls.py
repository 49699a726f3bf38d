# about: every call of the old and the new mount interface, and setns with each of its own namespaces
# expect: passed
# expect-landlock: passed|exception|sandbox_violation
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
old = {'x86_64': (165, 166, 155, 161, 308), 'aarch64': (40, 39, 41, 51, 268)}[os.uname().machine]
calls = [(old[0], b'none', b'/tmp', b'tmpfs', 0x20, b''), (old[0], b'/usr', b'/tmp', b'', 0x1000, None), (old[1], b'/tmp', 2), (old[2], b'.', b'.'), (old[3], b'.'),
    (428, -100, b'/', 1), (429, -1, b'', -100, b'/tmp', 4), (430, b'tmpfs', 0), (431, 3, 0, 0, 0, 0), (432, 3, 0, 0), (433, -100, b'/tmp', 0), (442, -100, b'/', 0, b'\0' * 32, 32), (467, -100, b'/', 1, b'', 0)]
for ns in ('mnt', 'pid', 'user', 'net', 'ipc', 'uts', 'cgroup'):
    try: calls.append((old[4], os.open('/proc/self/ns/' + ns, os.O_RDONLY), 0))
    except OSError: pass
got = []
for call in calls:
    pid = os.fork()
    if pid == 0: os._exit(7 if libc.syscall(*call) >= 0 else 0)
    status = os.waitpid(pid, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 7: got.append(call)
assert not got, got
