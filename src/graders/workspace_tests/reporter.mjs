// Writes the result of each test of `node --test` as a line of JSON. It runs in the process that
// starts the test files, which loads no code of the workspace. Each line begins with a digest over a
// key, its number and its text.

import { createHash } from 'node:crypto';
import { basename, relative, resolve } from 'node:path';

const KEY = '@KEY@';

export default async function* reporter(events) {
  let count = 0;
  const line = (facts) => {
    const text = JSON.stringify(facts);
    const mac = createHash('sha256').update(KEY + count + text + KEY).digest('hex');
    count += 1;
    return `${mac} ${text}\n`;
  };
  const shown = (file) => (file ? relative(process.cwd(), file) : '');
  const first = (text) => String(text ?? '').split('\n').map((part) => part.trim()).find(Boolean) ?? '';
  // Of each file, the names of the tests that are open.
  const open = new Map();
  yield line({ kind: 'begin', framework: `node ${process.version}` });
  for await (const { type, data } of events) {
    if (type === 'test:start') {
      const names = open.get(data.file) ?? [];
      names.length = Math.min(names.length, data.nesting);
      names.push(data.name);
      open.set(data.file, names);
    } else if (type === 'test:pass' || type === 'test:fail') {
      const file = shown(data.file);
      const names = (open.get(data.file) ?? []).slice(0, data.nesting);
      const own = [...names, data.name];
      const isSkipped = data.skip !== undefined || data.todo !== undefined;
      if (data.details?.type === 'suite' && type === 'test:pass' && !isSkipped) continue;
      const skipped = type === 'test:pass' && data.skip !== undefined || data.todo !== undefined;
      const status = skipped ? 'skipped' : type === 'test:fail' ? 'failed' : 'passed';
      const error = data.details?.error;
      const message = status === 'failed' ? first(error?.cause?.message ?? error?.message ?? error) : '';
      // A file without tests is reported by its own name.
      const isFile = data.nesting === 0 && (!data.file || resolve(data.name) === data.file);
      // A helper among the tests runs as a file, too.
      if (isFile && type === 'test:pass' && !/(^|[._-])(test|spec)([._-]|$)/.test(basename(data.name))) continue;
      yield line(isFile
        ? { kind: 'broken', id: shown(resolve(data.name)), message: message || 'the file reported no tests' }
        : { kind: 'test', id: [file, ...own].join(' > '), status, message: message.slice(0, 500) });
    }
  }
  yield line({ kind: 'end', exit: 0 });
}
