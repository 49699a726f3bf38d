// about: reads and changes files of the host
// expect: passed
const fs = require('fs'), assert = require('assert')
for (const f of [() => fs.readFileSync('/etc/shadow'), () => fs.writeFileSync('/usr/left-behind', 'x'), () => fs.readFileSync('@BAIT@'), () => fs.writeFileSync('@BAIT@', 'x'),
  () => fs.chmodSync('@BAIT@', 0o777), () => fs.utimesSync('@BAIT@', 1, 1), () => fs.unlinkSync('@BAIT@'), () => fs.rmSync(require('path').dirname('@BAIT@'), { recursive: true }), () => fs.chmodSync('/usr', 0o777)]) assert.throws(f, undefined, f.toString())
