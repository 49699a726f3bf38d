# Tells the harness about the interpreter that runs it, and compiles the runners (a JSON list of sources on stdin).
import json, marshal, os, sys
if sys.version_info < (3, 8):
    sys.exit('Python %d.%d is too old: 3.8 or newer is needed' % sys.version_info[:2])
sources = json.loads(sys.stdin.buffer.read().decode())
print(json.dumps({
    'executable': os.path.realpath(sys.executable),
    'version': '%d.%d.%d' % sys.version_info[:3],
    'prefixes': list(dict.fromkeys([sys.base_prefix, sys.base_exec_prefix])),
    'site': [os.path.realpath(p) for p in dict.fromkeys(sys.path) if p.endswith('-packages') and os.path.isdir(p)],
    'runners': [marshal.dumps(compile(s, '<runner>', 'exec')).hex() for s in sources],
}))
