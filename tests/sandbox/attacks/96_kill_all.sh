# about: every signal to everybody, then an honest end
# expect: passed|crashed(SIGKILL)|crashed(SIGTERM)|exception|crashed(SIGHUP)
trap '' TERM HUP INT
kill -TERM -1 2>/dev/null; kill -STOP 1 2>/dev/null; kill -KILL 1 $PPID 2>/dev/null
exit 0
