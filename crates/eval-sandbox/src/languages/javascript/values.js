// Values of JavaScript as the harness' tagged JSON, and back. Everything that is used here is taken before the candidate's
// program runs: what it replaces afterwards (JSON.stringify, prototypes, console) changes only what it says itself.
'use strict';
const fs = require('fs'), vm = require('vm'), types = require('util').types;
const { readSync, writeSync, writeFileSync } = fs;
const { isMap, isSet, isDate, isTypedArray, isRegExp, isNativeError, isPromise, isGeneratorObject, isProxy } = types;
const uncurry = Function.prototype.bind.bind(Function.prototype.call), bound = uncurry(Function.prototype.bind);
const quote = JSON.stringify, parse = JSON.parse, isArray = Array.isArray, keysOf = Object.keys;
const propertyOf = Object.getOwnPropertyDescriptor, protoOf = Object.getPrototypeOf, define = Object.defineProperty, apply = Reflect.apply, construct = Reflect.construct;
const PlainObject = Object.prototype, TheError = Error, TheMap = Map, TheSet = Set, TheDate = Date, TheBigInt = BigInt;
const TheTypeError = TypeError, TheReferenceError = ReferenceError, text = String;
const charCodeAt = uncurry(String.prototype.charCodeAt), slice = uncurry(String.prototype.slice);
const split = uncurry(String.prototype.split), indexOf = uncurry(String.prototype.indexOf);
const numberText = uncurry(Number.prototype.toString), bigText = uncurry(BigInt.prototype.toString);
const mapEach = uncurry(Map.prototype.forEach), setEach = uncurry(Set.prototype.forEach);
const mapSet = uncurry(Map.prototype.set), setAdd = uncurry(Set.prototype.add);
const isoText = uncurry(Date.prototype.toISOString), dateTime = uncurry(Date.prototype.getTime);
const hasOwn = uncurry(Object.prototype.hasOwnProperty), objectText = uncurry(Object.prototype.toString);
const bytesFrom = Buffer.from, makeBytes = Buffer.alloc, bytesText = uncurry(Buffer.prototype.toString);
const bytesIndexOf = uncurry(Buffer.prototype.indexOf), bytesPart = uncurry(Buffer.prototype.subarray);
const concat = Buffer.concat, leave = process.reallyExit.bind(process), ME = process.pid;
const DEEPEST = 95;
let longest = 7 << 20; // characters of a value

// Properties of what is built in, as they are before the candidate's program runs: object, key, value, name, ...
const BUILT_IN = [
  'Object', 'Array', 'String', 'Number', 'Boolean', 'Math', 'JSON', 'Reflect', 'Map', 'Set', 'RegExp', 'Date', 'Symbol', 'BigInt',
  'parseInt', 'parseFloat', 'isNaN', 'isFinite',
];

function builtInProperties() {
  const all = [];
  for (const name of BUILT_IN) {
    const owner = globalThis[name];
    for (const [object, shown] of [[owner, name + '.'], [owner.prototype, name + '.prototype.']]) {
      if (object === undefined) continue;
      for (const key of Reflect.ownKeys(object)) {
        const { value } = Object.getOwnPropertyDescriptor(object, key);
        if (typeof value === 'function') put(all, all.length, [object, key, value, shown + text(key)]);
      }
    }
  }
  return all;
}

// The name of the first that is another now, or null.
function firstReplaced(all) {
  for (let i = 0; i < all.length; i++) {
    const now = propertyOf(all[i][0], all[i][1]);
    if (now === undefined || now.value !== all[i][2]) return all[i][3];
  }
  return null;
}

// Thrown when a value is too large to be told.
const LARGE = { large: true };

// Text that JSON readers accept: lone surrogates are replaced.
function wellFormed(s) {
  s = slice(text(s), 0, 2000);
  let out = '';
  for (let i = 0; i < s.length; i++) {
    const c = charCodeAt(s, i);
    if (c >= 0xd800 && c < 0xe000) {
      const d = i + 1 < s.length ? charCodeAt(s, i + 1) : 0;
      if (c < 0xdc00 && d >= 0xdc00 && d < 0xe000) { out += s[i] + s[++i]; } else { out += '\ufffd'; }
    } else {
      out += s[i];
    }
  }
  return out;
}

// A text; one with lone surrogates as WTF-8.
function encodeText(s) {
  let lone = false;
  for (let i = 0; i < s.length && !lone; i++) {
    const c = charCodeAt(s, i);
    if (c >= 0xd800 && c < 0xe000) {
      const d = i + 1 < s.length ? charCodeAt(s, i + 1) : 0;
      if (c < 0xdc00 && d >= 0xdc00 && d < 0xe000) i++; else lone = true;
    }
  }
  if (!lone) return quote(s);
  let hex = '';
  const byte = (b) => { hex += (b < 16 ? '0' : '') + numberText(b, 16); };
  for (let i = 0; i < s.length; i++) {
    let c = charCodeAt(s, i);
    const d = i + 1 < s.length ? charCodeAt(s, i + 1) : 0;
    if (c >= 0xd800 && c < 0xdc00 && d >= 0xdc00 && d < 0xe000) { c = 0x10000 + ((c - 0xd800) << 10) + d - 0xdc00; i++; }
    if (c < 0x80) byte(c);
    else if (c < 0x800) { byte(0xc0 | c >> 6); byte(0x80 | c & 63); }
    else if (c < 0x10000) { byte(0xe0 | c >> 12); byte(0x80 | c >> 6 & 63); byte(0x80 | c & 63); }
    else { byte(0xf0 | c >> 18); byte(0x80 | c >> 12 & 63); byte(0x80 | c >> 6 & 63); byte(0x80 | c & 63); }
  }
  return '{"$wtf8":"' + hex + '"}';
}

function opaque(kind, shown) {
  return '{"$opaque":' + quote(wellFormed(kind)) + ',"repr":' + quote(wellFormed(shown === undefined ? '' : shown)) + '}';
}

function kindOf(v) {
  try {
    const p = protoOf(v);
    const made = p === null ? undefined : p.constructor;
    return typeof made === 'function' && typeof made.name === 'string' && made.name ? made.name : slice(objectText(v), 8, -1);
  } catch {
    return 'object';
  }
}

let told = 0; // characters of the value that is being told
function within(s) {
  told += s.length;
  if (told > longest) throw LARGE;
  return s;
}

function encode(v, depth, above) {
  switch (typeof v) {
    case 'string':
      if (v.length > longest) throw LARGE;
      return within(encodeText(v));
    case 'boolean': return within(v ? 'true' : 'false');
    case 'number':
      if (v !== v) return '{"$float":"nan"}';
      if (v === Infinity || v === -Infinity) return v > 0 ? '{"$float":"inf"}' : '{"$float":"-inf"}';
      return within(v === 0 && 1 / v < 0 ? '-0.0' : numberText(v, 10));
    case 'bigint': {
      const digits = bigText(v, 16);
      return within('{"$int":"' + (digits[0] === '-' ? '-0x' + slice(digits, 1) : '0x' + digits) + '"}');
    }
    case 'undefined': return within(opaque('undefined', 'undefined'));
    case 'symbol': return opaque('symbol');
    case 'function': return opaque('function', '[function]');
  }
  if (v === null) return within('null');
  if (depth > DEEPEST) return opaque('object', '[nested too deep]');
  for (let i = 0; i < depth; i++) if (above[i] === v) return opaque('object', '[cyclic]');
  above[depth] = v;
  above.length = depth + 1;
  const inner = (x) => encode(x, depth + 1, above);
  const list = (n, at) => {
    let out = '[';
    for (let i = 0; i < n; i++) out += (i ? ',' : '') + at(i);
    return out + ']';
  };
  if (isArray(v)) {
    if (v.length > longest) throw LARGE;
    return list(v.length, (i) => (i in v ? inner(v[i]) : within(opaque('empty item', '[empty item]'))));
  }
  if (isTypedArray(v)) return list(v.length, (i) => inner(v[i]));
  if (isMap(v)) {
    const pairs = [];
    mapEach(v, (value, key) => { define(pairs, pairs.length, { value: [key, value] }); });
    return '{"$dict":' + list(pairs.length, (i) => '[' + inner(pairs[i][0]) + ',' + inner(pairs[i][1]) + ']') + '}';
  }
  if (isSet(v)) {
    const items = [];
    setEach(v, (item) => { define(items, items.length, { value: item }); });
    return '{"$set":' + list(items.length, (i) => inner(items[i])) + '}';
  }
  if (isDate(v)) return within(opaque('Date', dateTime(v) === dateTime(v) ? isoText(v) : 'Invalid Date'));
  if (isRegExp(v)) return opaque('RegExp', text(v));
  const p = protoOf(v);
  if ((p !== null && p !== PlainObject) || isNativeError(v) || isPromise(v) || isGeneratorObject(v)) {
    return within(opaque(kindOf(v), '[object ' + kindOf(v) + ']'));
  }
  const keys = keysOf(v);
  let plain = true;
  for (let i = 0; i < keys.length; i++) plain = plain && keys[i][0] !== '$' && encodeText(keys[i])[0] === '"';
  let out = plain ? '{' : '{"$dict":[';
  for (let i = 0; i < keys.length; i++) {
    const key = within(encodeText(keys[i])), value = inner(v[keys[i]]);
    out += (i ? ',' : '') + (plain ? key + ':' + value : '[' + key + ',' + value + ']');
  }
  return out + (plain ? '}' : ']}');
}

function put(object, key, value) {
  define(object, key, { value, writable: true, enumerable: true, configurable: true });
}

// Arguments, in the order of the call.
function decode(x) {
  if (x === null || typeof x !== 'object') return x;
  if (isArray(x)) {
    for (let i = 0; i < x.length; i++) x[i] = decode(x[i]);
    return x;
  }
  const keys = keysOf(x);
  if (keys.length === 1 && keys[0][0] === '$') {
    const v = x[keys[0]];
    switch (keys[0]) {
      case '$int': return v[0] === '-' ? -TheBigInt(slice(v, 1)) : TheBigInt(v);
      case '$float': return v === 'nan' ? NaN : v === 'inf' ? Infinity : -Infinity;
      case '$dict': return special(v) ?? pairsObject(v);
    }
  }
  for (let i = 0; i < keys.length; i++) put(x, keys[i], decode(x[keys[i]]));
  return x;
}

// What authors write for values that JSON does not have; boxed, for undefined is one of them.
function special(pairs) {
  if (pairs.length !== 1) return undefined;
  const v = pairs[0][1];
  switch (pairs[0][0]) {
    case '$date': return new TheDate(v);
    case '$bigint': return TheBigInt(v);
    case '$map': {
      const map = new TheMap(), entries = decode(v);
      for (let i = 0; i < entries.length; i++) mapSet(map, entries[i][0], entries[i][1]);
      return map;
    }
    case '$set': {
      const set = new TheSet(), items = decode(v);
      for (let i = 0; i < items.length; i++) setAdd(set, items[i]);
      return set;
    }
  }
  return undefined;
}

function pairsObject(pairs) {
  const object = {};
  for (let i = 0; i < pairs.length; i++) put(object, pairs[i][0], decode(pairs[i][1]));
  return object;
}

function argument(x) {
  const absent = x !== null && typeof x === 'object' && isArray(x.$dict) && x.$dict.length === 1 && x.$dict[0][0] === '$undefined';
  return absent ? undefined : decode(x);
}

// What was thrown, as JSON text.
function errorText(e) {
  let kind = 'object', message = '', stack = '';
  const names = [];
  try {
    if (e instanceof TheError || isNativeError(e)) {
      const own = typeof e.name === 'string' ? e.name : '';
      for (let p = protoOf(e), i = 0; p !== null && p !== PlainObject && i < 8; p = protoOf(p), i++) {
        const made = p.constructor;
        const name = typeof made === 'function' && typeof made.name === 'string' ? made.name : '';
        if (name && names[names.length - 1] !== name) put(names, names.length, name);
      }
      if (own && names[0] !== own) {
        let known = false;
        for (let i = 0; i < names.length; i++) known = known || names[i] === own;
        if (!known) { put(names, names.length, own); }
      }
      kind = (names[0] === 'Error' || names.length === 0) && own ? own : names[0];
      message = text(e.message);
      stack = typeof e.stack === 'string' ? e.stack : '';
      // V8 has no error of its own for this.
      if (e.name === 'RangeError' && message === 'Array buffer allocation failed') { kind = 'MemoryError'; }
    } else {
      kind = e === null ? 'null' : typeof e;
      message = kind === 'object' ? kindOf(e) : text(e);
    }
  } catch {
    message = '?';
  }
  let mro = quote(wellFormed(kind));
  for (let i = 0; i < names.length && i < 8; i++) mro += ',' + quote(wellFormed(names[i]));
  return '{"type":' + quote(wellFormed(kind)) + ',"mro":[' + mro + '],"message":' + quote(wellFormed(message)) +
    ',"traceback":' + quote(wellFormed(stack)) + '}';
}

// The line that a syntax error names, or null.
function lineOf(e) {
  try {
    const head = split(text(e.stack), '\n', 1)[0];
    const at = indexOf(head, FILE + ':');
    const line = at < 0 ? NaN : +slice(head, at + FILE.length + 1);
    return line > 0 ? text(line) : 'null';
  } catch {
    return 'null';
  }
}

function say(line) {
  if (process.pid !== ME) leave(1);
  const bytes = bytesFrom(line + '\n');
  for (let at = 0; at < bytes.length;) at += writeSync(CHANNEL, bytes, at, bytes.length - at);
}

function readAll(fd) {
  const parts = [];
  for (;;) {
    const part = makeBytes(65536);
    const n = readSync(fd, part, 0, part.length, null);
    if (n === 0) return bytesText(concat(parts), 'utf8');
    put(parts, parts.length, bytesPart(part, 0, n));
  }
}

const FILE = 'solution.js', CHANNEL = 4;

// The candidate's program: a script whose names are looked up later, with `module` and `require`; or an ES module.
const program = { exports: {}, require: null };
let namespace = null, builtIns = null;

function isModule(code) {
  return /^(import[\s{*"']|export[\s{*])/m.test(code);
}

async function load(code, entry) {
  const requireHere = require('module').createRequire(process.cwd() + '/' + FILE);
  const own = (name) => (name === './solution' || name === './solution.js' ? program.exports : requireHere(name));
  put(own, 'resolve', requireHere.resolve);
  program.require = own;
  const globals = { module: program, exports: program.exports, require: own, __filename: FILE, __dirname: process.cwd() };
  for (const name of keysOf(globals)) put(globalThis, name, globals[name]);
  builtIns = new TheMap();
  if (entry && entry in globalThis) mapSet(builtIns, entry, globalThis[entry]);
  let script;
  try {
    const options = { filename: FILE };
    if (vm.constants && vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER) {
      options.importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
    }
    script = new vm.Script(code, options);
  } catch (e) {
    if (!isModule(code) && !/await/.test(text(e.message))) throw { phase: 'compile', error: e };
    return loadModule(code, entry);
  }
  try {
    script.runInThisContext();
  } catch (e) {
    throw { phase: 'run', error: e };
  }
}

async function loadModule(code, entry) {
  // A function that is not exported can be called in a script, so it can be called here.
  const declared = entry && new RegExp('^(async\\s+)?(function\\s*\\*?|class|const|let|var)\\s+' + entry.replace(/\$/g, '\\$') + '\\b', 'm');
  const given = declared && declared.test(code) ? code + '\n;export { ' + entry + ' as __entry__ };\n' : code;
  const path = process.cwd() + '/solution.mjs';
  writeFileSync(path, given);
  try {
    namespace = await import('file://' + path);
  } catch (e) {
    const syntax = e && e.name === 'SyntaxError' && !/solution\.mjs:\d+:\d+/.test(text(e.stack).replace(/^.*\n/, ''));
    throw { phase: syntax ? 'compile' : 'run', error: e };
  }
  program.exports = namespace;
}

const lookUp = vm.runInThisContext.bind(vm);

function findHead(name) {
  if (namespace !== null) {
    const names = [name, '__entry__'];
    for (let i = 0; i < 2; i++) if (namespace[names[i]] !== undefined) return namespace[names[i]];
    const main = namespace.default;
    if (main !== undefined && main !== null) {
      return main[name] !== undefined ? main[name] : typeof main === 'function' ? main : undefined;
    }
    return undefined;
  }
  const exported = program.exports;
  if (exported !== null && exported !== undefined && exported[name] !== undefined && hasOwn(exported, name)) return exported[name];
  const found = lookUp('typeof ' + name + ' === "undefined" ? undefined : ' + name);
  const given = found !== undefined && !(builtIns.has(name) && builtIns.get(name) === found);
  return given ? found : typeof exported === 'function' ? exported : undefined;
}

// A function and what it is called on. Of `Solution.solve` that is an instance, unless the class has it itself.
function find(path) {
  const parts = split(path, '.');
  let f = findHead(parts[0]), on;
  if (f === undefined) throw new TheReferenceError(parts[0] + ' is not defined');
  for (let i = 1; i < parts.length; i++) {
    on = f;
    if (typeof f === 'function' && f[parts[i]] === undefined && f.prototype && f.prototype[parts[i]] !== undefined) {
      on = construct(f, []);
    }
    // Not the program's own error, which a test may expect.
    f = f === null || f === undefined ? undefined : on[parts[i]];
  }
  if (typeof f !== 'function') throw new TheTypeError(path + ' is not a function');
  return { f, on };
}
