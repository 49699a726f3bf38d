# about: a file of a terabyte of nothing
# expect: exception|passed
f = open('sparse', 'wb')
f.truncate(1 << 40)
