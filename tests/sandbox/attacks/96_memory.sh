# about: a text without end in a variable
# wall: 10
# expect: memory_limit|timeout|exception|crashed(SIGABRT)|crashed(SIGSEGV)
x=x
while :; do x=$x$x; done
