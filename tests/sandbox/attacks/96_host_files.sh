# about: redirections into files of the host, and their modes
# expect: passed
for f in /usr/left-behind /etc/left-behind /left-behind /var/tmp/left-behind '@BAIT@' "$(dirname '@BAIT@')/left-behind"; do
  if (echo x > "$f") 2>/dev/null; then echo "wrote $f" >&2; exit 1; fi
done
if chmod 777 /usr '@BAIT@' 2>/dev/null || touch '@BAIT@' 2>/dev/null || rm -rf "$(dirname '@BAIT@')" 2>/dev/null && [ -e '@BAIT@' ]; then echo changed >&2; exit 1; fi
exit 0
