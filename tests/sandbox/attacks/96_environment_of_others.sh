# about: environments and arguments of all processes: nothing of the harness
# expect: passed
cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' > all
if grep -qE 'SANDBOX_TEST|CARGO|HOME=/root' all; then grep -E 'SANDBOX_TEST|CARGO|HOME=' all >&2; exit 1; fi
exit 0
