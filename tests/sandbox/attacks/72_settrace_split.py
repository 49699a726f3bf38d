# about: a trace function that changes results in flight: the results are its own
# mode: split
# expect: wrong_answer|exception
import sys, threading
def trace(frame, event, arg):
    return trace
sys.settrace(trace); sys.setprofile(trace); threading.settrace(trace)
def solve(a, b): return a * b + 100
