// about: nothing of the harness' environment or arguments is there
// expect: passed
const names = Object.keys(process.env).filter((n) => /KEY|TOKEN|SECRET|SANDBOX|CARGO|USER/.test(n))
require('assert').deepStrictEqual(names, [])
