// about: loads libraries and internal bindings
// expect: passed|exception
for (const f of [() => process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6'), () => process.binding('fs').open('/etc/shadow', 0, 0), () => process.setuid(0), () => process.seteuid(0), () => process.setgroups([0]), () => process.chdir('/root')]) {
  let worked = true
  try { if (f() === undefined) worked = false } catch { worked = false }
  require('assert')(!worked, f.toString())
}
