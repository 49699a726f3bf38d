// Runs a candidate and its tests in one process. A program that merely ends early is caught; one that looks for the token
// in this process' memory is not, and the grade says so.
(async () => {
  const whole = readAll(3);
  fs.closeSync(3);
  const cut = indexOf(whole, '\n'), token = slice(whole, 0, cut), request = parse(slice(whole, cut + 1));
  const verdict = (word, more) => {
    say(token + ' {"verdict":"' + word + '"' + (more || '') + '}');
    leave(0);
  };
  const assert = require('assert');
  const failure = assert.AssertionError;
  // Everything that tests are compiled with or compare by is made before the candidate's program runs.
  Object.freeze(assert.strict);
  Object.freeze(assert);
  const natives = builtInProperties();
  // As a script sees them: a program may declare such a name anew.
  const named = new vm.Script('(() => [' + BUILT_IN + '])').runInThisContext(), originals = named();
  const lists = [PlainObject, Array.prototype, String.prototype, Number.prototype, Boolean.prototype, Function.prototype];
  const json = Object.freeze({
    parse,
    stringify: (...given) => {
      for (let i = 0; i < lists.length; i++) if (hasOwn(lists[i], 'toJSON')) throw new TheError('the code adds toJSON to a built-in prototype');
      return apply(quote, null, given);
    },
  });
  const asserts = ['assert', 'node:assert', 'assert/strict', 'node:assert/strict'];
  const requiring = (name) => {
    for (let i = 0; i < asserts.length; i++) if (name === asserts[i]) return i < 2 ? assert : assert.strict;
    return program.require(name);
  };
  // `console.assert` only prints: in a test it is meant.
  const asserting = Object.create(console);
  put(asserting, 'assert', (holds, ...message) => assert(holds, message.length ? text(message[0]) : 'console.assert'));
  const parts = [{ name: 'setup.js', index: 0, code: request.setup, last: '' }];
  for (let i = 0; i < request.tests.length; i++) {
    const last = i === request.tests.length - 1 ? '\n;return typeof check === "function" ? check : undefined;' : '';
    put(parts, parts.length, { name: 'test_' + i + '.js', index: i, code: request.tests[i], last });
  }
  // The set-up shares the scope of the tests.
  let at = { name: 'setup.js', index: 0, line: 0, source: '' };
  const place = (e, part) => {
    const lines = split(part.code, '\n');
    let line = 0;
    try {
      const frames = split(text(e.stack), '\n');
      for (let i = 0; i < frames.length && line === 0; i++) {
        const from = indexOf(frames[i], part.name + ':');
        if (from >= 0) line = parseInt(slice(frames[i], from + part.name.length + 1), 10) || 0;
      }
    } catch {}
    const source = line > 0 && line <= lines.length ? lines[line - 1].trim() : lines.length === 1 ? lines[0] : '';
    return ',"index":' + numberText(part.index, 10) + ',"line":' + numberText(line, 10) + ',"source":' + quote(wellFormed(source));
  };
  const report = (e, part) => {
    const stack = e && typeof e.stack === 'string' ? e.stack : '';
    const first = split(stack, '\n    at ')[1] || '';
    const where = place(e, part) + ',"e":' + errorText(e);
    if (e instanceof failure) verdict('assertion', where);
    if (indexOf(first, FILE) >= 0 || indexOf(first, 'solution.mjs') >= 0 || (e && e.name === 'ReferenceError')) verdict('raised', where);
    verdict('test_raised', where);
  };
  const scope = '(function(console, assert, candidate, require, JSON) { return async () => {';
  const compiled = [];
  const setupLines = split(request.setup, '\n').length;
  for (let i = 1; i < parts.length; i++) {
    const part = parts[i];
    try {
      const body = scope + request.setup + '\n' + part.code + part.last + '\n}})';
      const script = new vm.Script(body, { filename: part.name, lineOffset: request.setup ? -setupLines : -1 });
      put(compiled, compiled.length, script.runInThisContext());
    } catch (e) {
      verdict('test_error', place(e, part) + ',"e":' + errorText(e));
    }
  }
  try {
    await load(request.code, request.entry);
  } catch (e) {
    verdict('load', ',"phase":"' + e.phase + '","line":' + (e.phase === 'compile' ? lineOf(e.error) : 'null') + ',"e":' + errorText(e.error));
  }
  // Tests name what a program exports as if it were declared in a script.
  const exported = program.exports;
  if (exported !== null && typeof exported === 'object') {
    for (const name of keysOf(exported)) if (name !== 'default' && !(name in globalThis)) put(globalThis, name, exported[name]);
  }
  let candidate;
  if (request.entry) {
    try {
      const found = find(request.entry);
      candidate = found.on === undefined ? found.f : bound(found.f, found.on);
    } catch (e) {
      verdict('raised', place(e, parts[0]) + ',"e":' + errorText(e));
    }
  }
  for (let i = 1; i < parts.length; i++) {
    const part = parts[i];
    try {
      const check = await compiled[i - 1](asserting, assert, candidate, requiring, json)();
      if (typeof check === 'function' && request.entry) await check(candidate);
    } catch (e) {
      report(e, part);
    }
  }
  let replaced = firstReplaced(natives);
  const now = named();
  for (let i = 0; i < originals.length; i++) if (now[i] !== originals[i]) replaced = BUILT_IN[i];
  if (replaced !== null) verdict('unsound', ',"why":' + quote('the code replaces `' + replaced + '`, which the tests may use'));
  verdict('passed');
})();
