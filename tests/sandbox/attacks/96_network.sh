# about: the shell's own way to the network
# expect: exception
exec 3<>/dev/tcp/127.0.0.1/80
