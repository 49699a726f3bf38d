# about: sockets with names that no file system shows, to reach helpers of the host
# expect: exception
import socket
s = socket.socket(socket.AF_UNIX)
s.connect('\0/tmp/.X11-unix/X0')
