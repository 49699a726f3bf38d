// about: signals to parent, init, group and everybody
// expect: passed|crashed(SIGKILL)|crashed(SIGTERM)|exception
for (const pid of [process.ppid, 1, -1]) {
  for (const signal of ['SIGKILL', 'SIGSTOP']) {
    try { process.kill(pid, pid === -1 ? 0 : signal) } catch (e) { if (!['ESRCH', 'EPERM', 'ENOSYS'].includes(e.code)) throw e }
  }
}
