// Elements and texts. Whatever came from outside enters the page as a text node or as an attribute, never as markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) {
      if (typeof value === 'function') node.addEventListener(name.slice(2), value);
    } else if (name === 'variables') {
      // The policy forbids style attributes; custom properties are set one by one.
      for (const [property, text] of Object.entries(value)) node.style.setProperty(property, String(text));
    } else if (name === 'href') {
      // Links lead within the page only.
      if (String(value).startsWith('#')) node.setAttribute('href', value);
    } else {
      node.setAttribute(name, value === true ? '' : String(value));
    }
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An element: el('p', {class: 'note'}, 'text', other). Children may be lists; null and false are passed over. */
function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

// Characters that show nothing, or that turn the order of others around: control characters, marks of direction, joiners
// of width zero, soft hyphens, fillers, tags.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

/** A text that somebody else wrote, set apart from what stands around it, with the characters that nobody would see made visible. */
function said(text, attributes) {
  const node = el('bdi', { ...attributes });
  const whole = String(text ?? '');
  let from = 0;
  for (const match of whole.matchAll(UNSEEN)) {
    node.append(whole.slice(from, match.index));
    const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    node.append(el('span', { class: 'unseen', title: 'an invisible character' }, `U+${code}`));
    from = match.index + match[0].length;
  }
  node.append(whole.slice(from));
  return node;
}

/** A link within the page; params as of address(). */
function link(params, attributes, ...children) {
  return el('a', { href: address(params), ...attributes }, ...children);
}

/** A small mark with a tone: pass, fail, errored, skipped, pending, info. */
function badge(tone, text) {
  return el('span', { class: `badge tone-${tone}` }, text);
}

/** A group of facts under a heading. */
function card(title, ...children) {
  const id = `card-${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
  return el('section', { class: 'card', 'aria-labelledby': id }, el('h2', { id }, title), children);
}

/** A table that may scroll sideways. `columns`: {title, number?: true}; `rows`: lists of cells, each a node or a text. */
function table(label, columns, rows) {
  const head = columns.map((column) => el('th', { scope: 'col', class: column.number && 'number' }, column.title));
  const line = (row) =>
    el('tr', {}, row.map((cell, at) =>
      at === 0
        ? el('th', { scope: 'row', class: columns[at]?.number && 'number' }, cell)
        : el('td', { class: columns[at]?.number && 'number' }, cell)));
  return el('div', { class: 'scrolls', tabindex: '0', role: 'region', 'aria-label': label },
    el('table', {}, el('thead', {}, el('tr', {}, head)), el('tbody', {}, rows.map(line))));
}

/** Name and value pairs; pairs without a value are passed over. */
function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return el('dl', { class: 'facts' }, known.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

/** A command with a button that copies it. */
function command(text) {
  return el('div', { class: 'command' }, el('code', {}, said(text)), copyButton(() => text, 'Copy the command'));
}

/** A button that copies what `text()` gives; `label` says what, `words` stand on it. */
function copyButton(text, label, words = 'Copy') {
  const button = el('button', { type: 'button', class: 'copy', 'aria-label': label, title: label }, words);
  button.addEventListener('click', async () => {
    const done = await copy(text());
    button.textContent = done ? 'Copied' : 'Not copied';
    announce(done ? 'Copied' : 'Could not copy');
    setTimeout(() => { button.textContent = words; }, 1500);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages from files may have no clipboard; selecting and copying is the old way.
    const area = el('textarea', { class: 'away', 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

/** Says something to those who listen to the page. */
function announce(text) {
  const place = document.getElementById('announcer');
  if (place) place.textContent = text;
}

function plural(n, noun) {
  return `${grouped(n)} ${noun}${n === 1 ? '' : 's'}`;
}

function grouped(n) {
  // From four digits on, as in the texts that the harness wrote.
  return n < 1000 ? String(n) : String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A block of data of the page; null when there is none of that name. */
function block(id) {
  const node = document.getElementById(id);
  return node && node.getAttribute('type') === 'application/json' ? JSON.parse(node.textContent) : null;
}

