// Differences of two texts: lines first, then words within lines that stand for each other. Bounded: beyond the bounds both sides
// are shown whole.

/** Products of the lengths of what is compared, of lines and of words. */
const DIFF_LINES = 1_000_000;
const DIFF_WORDS = 60_000;
/** Unchanged lines around a change. */
const DIFF_CONTEXT = 3;

/** The longest common subsequence as pairs of places; null when it would take too long. */
function commonParts(a, b, most) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const n = a.length - start - end;
  const m = b.length - start - end;
  if (n * m > most) return null;
  const width = m + 1;
  const lengths = new Uint32Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let j = m - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[start + i] === b[start + j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const pairs = Array.from({ length: start }, (_, at) => [at, at]);
  for (let i = 0, j = 0; i < n && j < m;) {
    if (a[start + i] === b[start + j]) { pairs.push([start + i, start + j]); i += 1; j += 1; }
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
    else j += 1;
  }
  for (let at = end; at > 0; at -= 1) pairs.push([a.length - at, b.length - at]);
  return pairs;
}

/** Lines as {kind: 'same' | 'missing' | 'extra' | 'gap', text, words?}; null when there is nothing to compare, or too much. */
function lineDiff(expected, actual) {
  // A final line break begins no line.
  const [a, b] = [expected, actual].map((text) => text.replace(/\n$/, '').split('\n'));
  const pairs = commonParts(a, b, DIFF_LINES);
  if (!pairs) return null;
  const all = [];
  let [i, j] = [0, 0];
  for (const [x, y] of [...pairs, [a.length, b.length]]) {
    const [missing, extra] = [a.slice(i, x), b.slice(j, y)];
    const words = missing.length === extra.length ? missing.map((line, at) => wordDiff(line, extra[at])) : [];
    missing.forEach((text, at) => all.push({ kind: 'missing', text, words: words[at]?.[0] }));
    extra.forEach((text, at) => all.push({ kind: 'extra', text, words: words[at]?.[1] }));
    if (x < a.length) all.push({ kind: 'same', text: a[x] });
    [i, j] = [x + 1, y + 1];
  }
  if (all.every(({ kind }) => kind === 'same')) return null;
  const near = new Uint8Array(all.length);
  all.forEach(({ kind }, at) => {
    if (kind !== 'same') near.fill(1, Math.max(0, at - DIFF_CONTEXT), at + DIFF_CONTEXT + 1);
  });
  const lines = [];
  for (let at = 0; at < all.length; at += 1) {
    if (near[at]) { lines.push(all[at]); continue; }
    let to = at;
    while (to < all.length && !near[to]) to += 1;
    lines.push({ kind: 'gap', text: plural(to - at, 'equal line') });
    at = to - 1;
  }
  return lines;
}

/** Two lines in pieces, every second of which differs; nothing when they have little in common. */
function wordDiff(old, now) {
  const words = (line) => line.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
  const [a, b] = [words(old), words(now)];
  const pairs = commonParts(a, b, DIFF_WORDS);
  const alike = pairs?.reduce((sum, [at]) => sum + a[at].length, 0) ?? 0;
  if (alike * 5 < Math.max(old.length, now.length) * 2) return null;
  const pieces = (list, side) => {
    const same = new Set(pairs.map((pair) => pair[side]));
    const out = [''];
    list.forEach((word, at) => {
      if (same.has(at) === (out.length % 2 === 1)) out[out.length - 1] += word;
      else out.push(word);
    });
    return out;
  };
  return [pieces(a, 0), pieces(b, 1)];
}

/** A text in pieces as markedParts() and wordDiff() give them. */
function inPieces(pieces) {
  return pieces.map((piece, at) => piece && (at % 2 === 1 ? el('mark', {}, said(piece)) : said(piece)));
}

/** Lines that lineDiff() gives; `sides` names what is compared. */
function diffView(lines, sides = ['expected', 'actual']) {
  const signs = { same: ' ', missing: '−', extra: '+', gap: '⋯' };
  const names = { missing: `${sides[0]}: `, extra: `${sides[1]}: ` };
  const shown = lines.slice(0, 400);
  const list = el('div', { class: 'diff', tabindex: '0', role: 'group', 'aria-label': `Difference of ${sides[0]} and ${sides[1]}` },
    shown.map(({ kind, text, words }) => el('div', { class: `line ${kind}` },
      el('span', { class: 'sign', 'aria-hidden': 'true' }, signs[kind]),
      el('span', { class: 'words' }, names[kind] && el('span', { class: 'away' }, names[kind]), words ? inPieces(words) : said(text)))));
  return [
    el('p', { class: 'diff-legend soft small' }, el('span', { class: 'tone-fail' }, '− ', said(sides[0])), el('span', { class: 'tone-pass' }, '+ ', said(sides[1]))),
    list,
    lines.length > shown.length && el('p', { class: 'soft small' }, `${plural(lines.length - shown.length, 'more line')} of the difference not shown; both sides are below.`),
  ];
}

/** Lines of a patch that are shown before one asks for more. */
const PATCH_LINES = 200;

/** A patch in git's format; `words` says what it changes. */
function patchView(words, shown) {
  const kindOf = (line) => {
    if (/^(diff |index |--- |\+\+\+ |@@|new file|deleted file|similarity|rename|old mode|new mode|Binary)/.test(line)) return 'gap';
    return { '-': 'missing', '+': 'extra' }[line[0]] ?? 'same';
  };
  const names = { missing: 'before: ', extra: 'after: ' };
  const signs = { same: ' ', missing: '−', extra: '+', gap: '' };
  const lines = shown.text.replace(/\n$/, '').split('\n').map((text) => ({ kind: kindOf(text), text }));
  const view = ({ kind, text }) => el('div', { class: `line ${kind}` },
    el('span', { class: 'sign', 'aria-hidden': 'true' }, signs[kind]),
    el('span', { class: 'words' }, names[kind] && el('span', { class: 'away' }, names[kind]), said(kind === 'gap' ? text : text.slice(1))));
  if (shown.text === '') return el('p', { class: 'soft' }, said(words));
  const list = el('div', { class: 'diff', tabindex: '0', role: 'group', 'aria-label': 'Changes in the workspace' }, lines.slice(0, PATCH_LINES).map(view));
  const more = lines.length > PATCH_LINES && el('button', { type: 'button', class: 'unfold' }, `Show all ${grouped(lines.length)} lines`);
  if (more) {
    more.addEventListener('click', () => {
      list.append(...lines.slice(PATCH_LINES).map(view));
      more.remove();
    });
  }
  return [
    el('p', { class: 'soft small' }, said(words)),
    list,
    el('div', { class: 'text-tools' }, more, copyButton(() => shown.text, 'Copy: Changes in the workspace')),
    shown.cut && el('p', { class: 'soft small cut' }, shown.cut),
  ];
}
