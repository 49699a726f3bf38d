// Long lists that are searched and sifted: a field, a switch for each kind, and as many lines as somebody asks for.

/** Lines that are drawn at first, and each time when more are asked for. */
const LINES_AT_FIRST = 30;
const LINES_AT_ONCE = 200;

/**
 * {label, noun, rows, words(row): what is searched, kindOf?(row): place in `kinds`, kinds?: [{name, title?, count}], draw(row): a node,
 * kind?: name of the kind at first, query?: the words at first, changed?({kind, q}), wrap?(lines): the node around the lines}
 */
function siftedList({ label, noun, rows, words, kindOf, kinds = [], draw, kind = '', query = '', changed, wrap }) {
  let searched = null;
  let shown = 0;
  let found = rows;
  const state = { kind: kinds.some((one) => one.name === kind) ? kind : '', q: query };
  const status = el('p', { class: 'soft small', role: 'status' });
  const lines = wrap ? null : el('ul', { class: 'lines', 'aria-label': label });
  const framed = wrap?.();
  const body = framed?.body ?? lines;
  const more = el('button', { type: 'button', class: 'more', onclick: () => append() });
  const field = el('input', { type: 'search', value: query, placeholder: `Search ${noun}s`, 'aria-label': `Search ${label}`, autocomplete: 'off', spellcheck: 'false' });

  const append = () => {
    const next = shown + (shown === 0 ? LINES_AT_FIRST : LINES_AT_ONCE);
    body.append(...found.slice(shown, next).map(draw));
    shown = Math.min(found.length, next);
    more.hidden = shown >= found.length;
    more.textContent = `Show ${grouped(Math.min(LINES_AT_ONCE, found.length - shown))} more of ${grouped(found.length)}`;
    status.textContent = found.length === rows.length ? plural(rows.length, noun) : `${grouped(found.length)} of ${plural(rows.length, noun)}`;
  };
  const sift = () => {
    const asked = state.q.trim().toLowerCase().split(/\s+/).filter(Boolean);
    if (asked.length > 0) searched ??= rows.map((row) => words(row).toLowerCase());
    const at = kinds.findIndex((one) => one.name === state.kind);
    found = rows.filter((row, n) => (at < 0 || kindOf(row) === at) && asked.every((word) => searched[n].includes(word)));
    body.replaceChildren();
    shown = 0;
    append();
  };
  const buttons = kinds.length > 1
    ? [{ name: '', title: 'All', count: rows.length }, ...kinds].map((one) =>
      el('button', { type: 'button', class: 'kind', 'data-kind': one.name, onclick: () => choose(one.name) },
        one.title ?? one.name, el('span', { class: 'count' }, grouped(one.count))))
    : [];
  const choose = (name) => {
    state.kind = name;
    mark();
    sift();
    changed?.(state);
  };
  const mark = () => {
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.kind === state.kind));
  };
  field.addEventListener('input', () => {
    state.q = field.value;
    sift();
    changed?.(state);
  });
  mark();
  sift();
  const node = el('div', { class: 'sifted' },
    (buttons.length > 0 || rows.length > 8) && el('div', { class: 'sieve' },
      buttons.length > 0 && el('div', { class: 'kinds', role: 'group', 'aria-label': 'Kinds' }, buttons),
      rows.length > 8 && field),
    status, framed?.node ?? lines, more);
  return { node, choose };
}
