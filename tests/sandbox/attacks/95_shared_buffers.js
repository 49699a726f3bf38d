// about: shared memory, which the data limit does not count
// wall: 20
// expect: memory_limit|exception|crashed(SIGABRT)|crashed(SIGTRAP)|crashed(SIGSEGV)
const kept = []
while (true) { const b = new Uint8Array(new SharedArrayBuffer(16 << 20)); b.fill(1); kept.push(b) }
