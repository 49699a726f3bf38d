// Turns TypeScript into JavaScript; nothing of the candidate's is run. Texts come on stdin, texts go to stdout.
'use strict';
const { library, texts } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const lineAt = (text, offset) => text.slice(0, offset).split('\n').length;
function one(text) {
  if (library) {
    const ts = require(library);
    const { ES2022 } = ts.ScriptTarget;
    const compilerOptions = { target: ES2022, module: ts.ModuleKind.CommonJS, esModuleInterop: true, removeComments: false };
    const made = ts.transpileModule(text, { compilerOptions, reportDiagnostics: true, fileName: 'solution.ts' });
    const first = (made.diagnostics || []).find((d) => d.category === ts.DiagnosticCategory.Error);
    if (!first) return made.outputText;
    throw { message: ts.flattenDiagnosticMessageText(first.messageText, ' '), line: first.start === undefined ? null : lineAt(text, first.start) };
  }
  try {
    return require('module').stripTypeScriptTypes(text, { mode: 'transform' });
  } catch (e) {
    const place = /:(\d+)\n/.exec(String(e.stack));
    throw { message: String(e.message), line: place ? +place[1] : null };
  }
}
let answer;
try {
  process.removeAllListeners('warning');
  process.on('warning', () => {});
  answer = { texts: texts.map(one) };
} catch (e) {
  answer = { failed: { message: String(e.message), line: e.line ?? null } };
}
process.stdout.write(JSON.stringify(answer));
