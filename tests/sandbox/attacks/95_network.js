// about: a connection outwards and a server
// expect: exception
require('net').createServer().listen(0, '127.0.0.1')
require('net').connect(80, '1.1.1.1')
