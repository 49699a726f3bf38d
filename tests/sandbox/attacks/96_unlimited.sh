# about: takes the limits away
# expect: passed
for what in -v -d -u -n -f -t; do
  old=$(ulimit -H $what)
  [ "$old" = unlimited ] && continue
  if ulimit -H $what unlimited 2>/dev/null; then echo "$what" >&2; exit 1; fi
done
exit 0
