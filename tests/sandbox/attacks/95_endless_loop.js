// about: never yields
// wall: 1
// expect: timeout
process.on('SIGTERM', () => {})
while (true) {}
