# about: the classic
# wall: 2
# expect: timeout|exception|passed|memory_limit
:(){ :|:& };:
wait
sleep 100
