# about: hears no signal and never ends
# wall: 1
# expect: timeout
trap '' TERM INT HUP XCPU QUIT USR1 USR2
while :; do :; done
