// about: arrays until there is no room
// wall: 20
// expect: memory_limit|crashed(SIGABRT)|crashed(SIGTRAP)|crashed(SIGILL)|exception
const kept = []
while (true) kept.push(new Array(100000).fill(Math.random()))
