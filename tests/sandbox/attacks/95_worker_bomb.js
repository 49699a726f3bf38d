// about: worker threads without end
// wall: 2
// expect: timeout|exception|memory_limit|crashed(SIGABRT)|crashed(SIGTRAP)|crashed(SIGSEGV)
// expect-landlock: timeout|exception|memory_limit|crashed(SIGABRT)|crashed(SIGTRAP)|crashed(SIGSEGV)|sandbox_violation
const { Worker } = require('worker_threads')
const more = () => { new Worker('setInterval(() => {}, 1000)', { eval: true }).on('error', () => {}); setImmediate(more) }
more()
