// Colours for code: comments, strings, numbers, keywords. One scanner for many languages; what it does not know stays plain.

/** Characters beyond which code stays plain. */
const CODE_LIMIT = 100_000;
const KEYWORDS = new Set(('abstract and as assert async await begin bool boolean break case catch char class const continue def default defer del do ' +
  'double elif else elseif elsif end enum except export extends false False final finally float fn for foreach from func function global go goto if impl ' +
  'implements import in include inline instanceof int interface is lambda let long loop match mod module mut namespace new nil None nonlocal not null or ' +
  'package pass private protected pub public raise require return self static string struct super switch template then this throw throws trait true True ' +
  'try type typedef typeof undefined union unless unsafe unsigned until use using var virtual void volatile when where while with yield').split(' '));
const SQL_KEYWORDS = new Set(('add all alter and as asc begin between by case cast check commit constraint create cross default delete desc distinct drop ' +
  'else end except exists foreign from full group having in index inner insert intersect into is join key left like limit not null offset on or order ' +
  'outer over partition primary references returning right rollback select set table then union unique update using values view when where with').split(' '));
const HASH_LANGUAGES = /^(py|python|python3|rb|ruby|sh|bash|zsh|shell|fish|ya?ml|toml|r|perl|pl|elixir|ex|nix|docker(file)?|make(file)?|julia|jl)$/i;
const DASH_LANGUAGES = /^(sql|sqlite|postgres(ql)?|mysql|lua|haskell|hs|elm|ada)$/i;
const PLAIN_LANGUAGES = /^(te?xt|plain(text)?|console|output|markdown|md|diff|patch|html|xml|csv)$/i;

/** The parts of a text with their classes; null where it stays plain. */
function codeParts(text, language) {
  if (!language || PLAIN_LANGUAGES.test(language) || text.length > CODE_LIMIT) return null;
  const isSql = /sql|postgres/i.test(language);
  const comment = HASH_LANGUAGES.test(language) ? '#[^\\n]*'
    : DASH_LANGUAGES.test(language) ? '--[^\\n]*'
      : '\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)';
  // A lifetime of Rust begins no text.
  const quoted = /^(rs|rust)$/i.test(language) ? "'(?:\\\\.[^']*|[^'\\\\\\n])'" : "'(?:\\\\.|[^'\\\\\\n])*'?";
  const texts = `"""[\\s\\S]*?(?:"""|$)|'''[\\s\\S]*?(?:'''|$)|"(?:\\\\.|[^"\\\\\\n])*"?|${quoted}|\`(?:\\\\.|[^\`\\\\])*\`?`;
  const pattern = new RegExp(`(${comment})|(${texts})|\\b(\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`, 'g');
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const [whole, isComment, isText, isNumber, word] = match;
    const kind = isComment ? 'comment' : isText ? 'string' : isNumber ? 'digits'
      : (isSql ? SQL_KEYWORDS.has(word.toLowerCase()) : KEYWORDS.has(word)) ? 'keyword' : null;
    if (!kind) continue;
    parts.push([null, text.slice(from, match.index)], [kind, whole]);
    from = match.index + whole.length;
  }
  parts.push([null, text.slice(from)]);
  return parts.filter(([, part]) => part !== '');
}

/** Code as nodes. Characters that show nothing are made visible, as everywhere. */
function codeNodes(text, language) {
  const parts = codeParts(text, language);
  if (!parts) return [said(text)];
  return parts.flatMap(([kind, part]) => (kind ? el('span', { class: `code-${kind}` }, ...said(part).childNodes) : [...said(part).childNodes]));
}

/** The language of a text that is code, by its lines; null where it reads like prose. */
function guessLanguage(text) {
  const start = text.trimStart();
  if (/^[[{]/.test(start) && text.length <= CODE_LIMIT) {
    try {
      JSON.parse(text);
      return 'json';
    } catch {
      // Not JSON.
    }
  }
  if (/^(select|insert into|create (table|view|index)|update|delete from|with)\b[\s\S]*\b(from|values|set|as|on)\b/i.test(start.slice(0, 2000))) return 'sql';
  const lines = start.slice(0, 20_000).split('\n').filter((line) => line.trim() !== '').slice(0, 200);
  const python = lines.filter((line) => /^\s*(def|class|if|elif|else|for|while|try|except|with)\b.*:\s*(#.*)?$|^\s*(import|from)\s+\w|^\s*(return|raise|assert)\b/.test(line)).length;
  const braces = lines.filter((line) => /[;{}]\s*(\/\/.*)?$|^\s*(\/\/|#include|use |pub |fn |func |package )/.test(line)).length;
  const most = Math.max(python, braces);
  if (most === 0 || most * 4 < lines.length) return null;
  return python > braces ? 'python' : /\bfn \w+|\blet mut\b/.test(start) ? 'rust' : 'c';
}
