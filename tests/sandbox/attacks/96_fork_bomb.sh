# about: the classic
# wall: 2
# expect: timeout|exception|passed|memory_limit
# expect-landlock: timeout|exception|passed|memory_limit|sandbox_violation
:(){ :|:& };:
wait
sleep 100
