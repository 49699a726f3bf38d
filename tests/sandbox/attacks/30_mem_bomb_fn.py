# expect: memory_limit
# mode: fn
def solve(a, b):
    x = []
    while True: x.append(bytearray(10**7))
