// about: memory of WebAssembly, up to 4 GiB
// wall: 20
// expect: passed|memory_limit|exception|crashed(SIGABRT)|crashed(SIGTRAP)|crashed(SIGSEGV)
const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536 })
for (;;) { try { memory.grow(256) } catch { break } new Uint8Array(memory.buffer).fill(1, memory.buffer.byteLength - (1 << 24)) }
require('assert')(memory.buffer.byteLength < 1 << 30, String(memory.buffer.byteLength))
