# expect: exception
# mode: script
import resource
resource.setrlimit(resource.RLIMIT_DATA,(resource.RLIM_INFINITY,)*2)
