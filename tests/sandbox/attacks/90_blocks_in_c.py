# about: a lock that is never released, inside C, where no Python signal handler runs
# wall: 1
# expect: timeout
import ctypes
libc = ctypes.CDLL(None)
lock = ctypes.create_string_buffer(64)
libc.pthread_mutex_lock(lock); libc.pthread_mutex_lock(lock)
