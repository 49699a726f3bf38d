// Runs in the candidate's process: loads its program and answers calls until the other side closes the channel. Nothing
// here protects anything: what a program can reach in this process is only to give other answers, which is its right.
let buffered = makeBytes(0);

function nextLine() {
  const parts = [];
  for (;;) {
    const end = bytesIndexOf(buffered, 10);
    if (end >= 0) {
      put(parts, parts.length, bytesPart(buffered, 0, end));
      buffered = bytesPart(buffered, end + 1);
      return bytesText(concat(parts), 'utf8');
    }
    put(parts, parts.length, buffered);
    buffered = makeBytes(65536);
    const n = readSync(CHANNEL, buffered, 0, 65536, null);
    buffered = bytesPart(buffered, 0, n);
    if (n === 0) return null;
  }
}

async function answer(q) {
  const i = '{"i":' + numberText(q.i, 10);
  try {
    const { f, on } = find(q.f);
    const args = [];
    for (let k = 0; k < q.a.length; k++) put(args, k, argument(q.a[k]));
    let v = apply(f, on, args);
    if (isPromise(v)) v = await v;
    told = 0;
    return i + ',"v":' + encode(v, 0, []) + '}';
  } catch (e) {
    if (e === LARGE) return i + ',"large":1}';
    return i + ',"e":' + errorText(e) + '}';
  }
}

(async () => {
  const request = parse(readAll(3));
  longest = request.most;
  fs.closeSync(3);
  try {
    await load(request.code, request.entry);
  } catch (failure) {
    const line = failure.phase === 'compile' ? ',"line":' + lineOf(failure.error) : '';
    say('{"load":"' + failure.phase + '","e":' + slice(errorText(failure.error), 0, -1) + line + '}}');
    leave(0);
  }
  say('{"ready":true}');
  for (let line = nextLine(); line !== null; line = nextLine()) say(await answer(parse(line)));
  leave(0);
})();
