// about: ends with 0 from every place; for a program that is only run this is an ordinary end
// expect: passed
process.on('exit', () => { process.exitCode = 0; process.reallyExit(0) })
setTimeout(() => { throw new Error('never') }, 1000)
process.exit(0)
