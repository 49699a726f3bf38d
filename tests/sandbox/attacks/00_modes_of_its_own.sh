# about: a script that is written and made executable runs, in every tier
# expect: passed
set -e
printf '#!/bin/sh\necho hi\n' > tool
chmod +x tool
test "$(./tool)" = hi
mkdir -p deep/er
cp tool deep/er/tool
chmod 700 deep/er/tool
(cd deep && chmod u-w er/tool && ./er/tool > /dev/null)
install -m 755 tool made && ./made > /dev/null
chmod 000 deep && chmod 755 deep
umask 077; : > private; test "$(stat -c %a private)" = 600; chmod 640 private; test "$(stat -c %a private)" = 640
