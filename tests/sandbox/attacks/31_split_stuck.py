# expect: timeout
# wall: 1
# mode: split
def solve(a,b):
    while True: pass
