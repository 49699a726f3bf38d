// about: a detached child that goes on after the end
// expect: passed|exception
const child = require('child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
child.on('error', () => {})
child.unref()
