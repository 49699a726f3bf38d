# expect: crashed(SIGSEGV)|exception|timeout|memory_limit
# wall: 1
# mode: script
import sys
sys.setrecursionlimit(10**9)
def f(): return f()
f()
