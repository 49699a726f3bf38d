// about: memory outside the heap
// wall: 20
// expect: memory_limit|exception|crashed(SIGABRT)|crashed(SIGTRAP)
const kept = []
while (true) kept.push(Buffer.alloc(16 << 20, 1))
