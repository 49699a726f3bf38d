# expect: timeout
# wall: 1
# mode: script
while True: pass
