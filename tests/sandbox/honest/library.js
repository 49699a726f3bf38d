const { Worker, isMainThread, parentPort } = require('worker_threads');
const assert = require('assert'), cp = require('child_process'), fs = require('fs'), os = require('os');
const crypto = require('crypto'), zlib = require('zlib');

async function main() {
  const worker = new Worker(__filename);
  assert.equal(await new Promise(done => worker.on('message', done)), 42);
  assert.equal(cp.execSync('echo hi').toString(), 'hi\n');
  assert.equal(cp.spawnSync('cat', { input: 'x' }).stdout.toString(), 'x');
  fs.writeFileSync('child.js', 'process.send(process.argv[2])');
  const child = cp.fork('./child.js', ['said']);
  assert.equal(await new Promise(done => child.on('message', done)), 'said');
  const folder = fs.mkdtempSync(os.tmpdir() + '/x');
  const file = folder + '/a';
  fs.writeFileSync(file, '1');
  await fs.promises.copyFile(file, folder + '/b');
  await fs.promises.appendFile(file, '2');
  assert.equal(await fs.promises.readFile(file, 'utf8'), '12');
  fs.chmodSync(file, 0o755);
  fs.symlinkSync('a', folder + '/link');
  assert.equal(fs.realpathSync(folder + '/link'), fs.realpathSync(file));
  const open = fs.openSync(file, 'r+');
  fs.fsyncSync(open);
  fs.ftruncateSync(open, 1);
  fs.closeSync(open);
  for await (const chunk of fs.createReadStream(file)) assert.equal(chunk.toString(), '1');
  fs.renameSync(folder + '/b', folder + '/c');
  assert.deepEqual(fs.readdirSync(folder).sort(), ['a', 'c', 'link']);
  fs.rmSync(folder, { recursive: true });
  await new Promise(done => setTimeout(done, 5));
  await new Promise(done => setImmediate(done));
  const ticks = [];
  await new Promise(done => { const t = setInterval(() => { if (ticks.push(1) === 3) { clearInterval(t); done(); } }, 1); });
  assert.equal(zlib.gunzipSync(zlib.gzipSync('text')).toString(), 'text');
  await new Promise((done, fail) => crypto.pbkdf2('a', 'b', 10, 10, 'sha256', e => e ? fail(e) : done()));
  const shared = new Int32Array(new SharedArrayBuffer(8));
  Atomics.wait(shared, 0, 0, 5);
  new WebAssembly.Memory({ initial: 1, maximum: 10 });
  os.cpus(); os.loadavg(); os.hostname(); os.getPriority();
  console.log('well');
}

if (isMainThread) main().catch(e => { console.error(e); process.exit(1); });
else parentPort.postMessage(42);
