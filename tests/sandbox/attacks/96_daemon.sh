# about: processes in sessions of their own, one of them stopped
# expect: passed
setsid sleep 1000 > /dev/null 2>&1 < /dev/null &
(trap '' HUP TERM; sleep 1000 & kill -STOP $!) &
disown -a
exit 0
