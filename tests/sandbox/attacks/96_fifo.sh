# about: waits for a writer who never comes
# wall: 1
# expect: timeout
mkfifo f && cat f
