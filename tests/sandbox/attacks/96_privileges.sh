# about: su, sudo, mount, unshare, nsenter, chroot: none gives more than there is
# expect: passed
for c in 'su -c id' 'sudo -n id' 'mount -t tmpfs none /tmp' 'unshare -Ur id' 'unshare -m id' 'nsenter -t 1 -m id' 'chroot / id' 'newgrp root' 'umount -l /tmp' 'umount -l /usr'; do
  if $c > out 2>&1 < /dev/null && grep -q 'uid=0' out; then echo "$c" >&2; exit 1; fi
done
exit 0
