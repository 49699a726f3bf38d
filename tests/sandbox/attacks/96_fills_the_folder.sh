# about: fills its folder until there is no room, then leaves it unreadable
# wall: 20
# expect: passed
# expect-landlock: passed|output_limit
i=0
while [ $i -lt 20 ] && head -c 15000000 /dev/zero > "f$i" 2>/dev/null; do i=$((i + 1)); done
[ $i -lt 20 ] || { echo "300 MB fit" >&2; exit 1; }
mkdir -p a/b && chmod 000 a/b a .
exit 0
