# expect: passed
# expect-landlock: passed|exception
# mode: script
import multiprocessing as m
def f(x): return x*x
if __name__=="__main__":
    with m.get_context("fork").Pool(2) as p: assert p.map(f,[1,2,3])==[1,4,9]
