# expect: timeout|memory_limit
# wall: 1
# mode: script
x=7**(10**8)
str(x)
