// about: children that start children
// wall: 2
// expect: timeout|exception|memory_limit|passed|crashed(SIGABRT)|crashed(SIGTRAP)
// expect-landlock: timeout|exception|memory_limit|passed|crashed(SIGABRT)|crashed(SIGTRAP)|sandbox_violation
const { spawn } = require('child_process')
for (let i = 0; i < 4; i++) spawn(process.execPath, [__filename], { detached: true, stdio: 'ignore' }).on('error', () => {})
setInterval(() => {}, 1000)
