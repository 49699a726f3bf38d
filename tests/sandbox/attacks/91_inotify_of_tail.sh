# about: tail goes on without inotify
# expect: passed
echo one > log
(sleep 0.3; echo two >> log) &
timeout 2 tail -n 1 -f log > seen 2>/dev/null
grep -q two seen
