# about: closes its streams and stays
# wall: 1
# expect: timeout
exec 0<&- 1>&- 2>&-
while :; do sleep 100; done
