// about: output without end
// wall: 20
// expect: output_limit|memory_limit|crashed(SIGABRT)
const fs = require('fs')
while (true) { try { fs.writeSync(1, 'x'.repeat(65536)) } catch (e) { if (e.code !== 'EAGAIN') throw e } }
