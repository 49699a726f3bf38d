// about: fs.watch and fs.watchFile: the one fails in words, the other polls
// expect: passed
const fs = require('fs'), assert = require('assert');
assert.throws(() => fs.watch('/usr/bin', () => 0), e => e.syscall === 'watch');
fs.writeFileSync('own', '1');
fs.watchFile('own', { interval: 20 }, () => { fs.unwatchFile('own'); process.exit(0); });
setTimeout(() => fs.writeFileSync('own', '22'), 50);
