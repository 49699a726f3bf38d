# Tells the harness about the interpreter that runs it, and compiles the runners (JSON on stdin: name and source of each).
import json, marshal, os, sys
if sys.version_info < (3, 6):
    sys.exit('Python %d.%d is too old: 3.6 or newer is needed' % sys.version_info[:2])
sources = json.loads(sys.stdin.buffer.read().decode())
try:
    import ctypes, resource
    cold = '' if sys.version_info >= (3, 9) else 'Python %d.%d is older than 3.9' % sys.version_info[:2]
except ImportError as e:
    cold = 'Python lacks a module: %s' % e
print(json.dumps({
    'executable': os.path.realpath(sys.executable),
    'version': '%d.%d.%d' % sys.version_info[:3],
    'prefixes': list(dict.fromkeys([sys.base_prefix, sys.base_exec_prefix])),
    'site': [os.path.realpath(p) for p in dict.fromkeys(sys.path) if p.endswith('-packages') and os.path.isdir(p)],
    'cold': cold,
    'runners': {name: marshal.dumps(compile(source, '<%s>' % name, 'exec')).hex() for name, source in sources.items()},
}))
