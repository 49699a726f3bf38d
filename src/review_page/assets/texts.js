// A text of others in its views: as it is, rendered, or as a difference from a reference.

/** What is shown of a long text at first. */
const FIRST_LINES = 400;
const FIRST_CHARACTERS = 40_000;
const VIEW_NAMES = { raw: 'As it is', rendered: 'Rendered', diff: 'Difference' };

/** The view that the reviewer chose; null: what fits the text. */
let chosenView = null;

/** Elements of rendered Markdown. Links and images are texts: nothing of an output leads anywhere. */
const MARKUP = {
  paragraph: (node) => el('p', {}, markup(node)),
  heading: (node) => el(`h${headingLevel(node.level ?? 1)}`, {}, markup(node)),
  list: (node) => el('ul', {}, markup(node)),
  numbered: (node) => el('ol', { start: node.start ?? 1 }, markup(node)),
  item: (node) => el('li', {}, markup(node)),
  quote: (node) => el('blockquote', {}, markup(node)),
  code_block: (node) => el('pre', { class: 'said', tabindex: '0' }, codeNodes(node.text ?? '', node.language)),
  code: (node) => el('code', {}, said(node.text)),
  emphasis: (node) => el('em', {}, markup(node)),
  strong: (node) => el('strong', {}, markup(node)),
  struck: (node) => el('del', {}, markup(node)),
  table: (node) => el('div', { class: 'scrolls', tabindex: '0', role: 'region', 'aria-label': 'Table of the text' }, el('table', {}, el('tbody', {}, markup(node)))),
  row: (node) => el('tr', {}, markup(node)),
  head: (node) => el('tr', { class: 'head' }, markup(node)),
  cell: (node) => el('td', {}, markup(node)),
  rule: () => el('hr', {}),
  break: () => el('br', {}),
  link: (node) => el('span', { class: 'link-text' }, markup(node), ' ', el('span', { class: 'soft small' }, '(', said(node.text), ')')),
  image: (node) => el('span', { class: 'link-text' }, 'Image: ', markup(node), ' ', el('span', { class: 'soft small' }, '(', said(node.text), ')')),
  text: (node) => said(node.text),
};

function markup(node) {
  return (node.children ?? []).map((child) => (Object.hasOwn(MARKUP, child.kind) ? MARKUP[child.kind](child) : said(child.text ?? '')));
}

/** Levels of the headings that are open. */
let openHeadings = [];

/** The level on the page, below its own headings and without a gap, whatever levels a text has. */
function headingLevel(level) {
  openHeadings = [...openHeadings.filter((open) => open < level), level];
  return Math.min(6, openHeadings.length + 2);
}

function rendered(nodes) {
  openHeadings = [];
  return el('div', { class: 'rendered' }, markup({ children: nodes }));
}

/** The text as it is, its beginning first when it is long. */
function rawText(text, label) {
  const language = guessLanguage(text);
  const lines = text.split('\n');
  let first = lines.length > FIRST_LINES * 1.1 ? lines.slice(0, FIRST_LINES).join('\n') : text;
  if (first.length > FIRST_CHARACTERS * 1.1) first = first.slice(0, FIRST_CHARACTERS).replace(/[\ud800-\udbff]$/, '');
  const box = el('pre', { class: 'said', tabindex: '0', role: 'group', 'aria-label': label },
    text === '' ? el('span', { class: 'soft' }, '(empty)') : codeNodes(first, language));
  if (first.length === text.length) return box;
  const more = el('button', { type: 'button', class: 'unfold' }, `Show all ${grouped(lines.length)} lines, ${grouped(text.length)} characters`);
  more.addEventListener('click', () => {
    box.replaceChildren(...codeNodes(text, language));
    more.remove();
  });
  return [box, el('div', { class: 'text-tools' }, more)];
}

function difference(reference, text) {
  if (reference === text) return el('p', { class: 'soft' }, 'Equal to the reference.');
  const lines = lineDiff(reference, text);
  return lines ? diffView(lines, ['reference', 'output'])
    : el('p', { class: 'soft' }, 'The texts differ only in a final line break, or are too long to be compared.');
}

/** A text with its views. `shown`: {text, markup?, is_markdown?, cut?}; `reference`: a text to compare it with. */
function textViews(shown, label, reference = null) {
  const views = ['raw'];
  if (shown.markup) views.push('rendered');
  if (reference !== null) views.push('diff');
  const fitting = shown.markup && shown.is_markdown ? 'rendered' : 'raw';
  const place = el('div', { class: 'view' });
  const buttons = views.map((name) => el('button', { type: 'button', class: 'view-choice', 'data-view': name, onclick: () => { chosenView = name; redraw(); } }, VIEW_NAMES[name]));
  const draw = () => {
    const now = views.includes(chosenView) ? chosenView : fitting;
    buttons.forEach((button) => button.setAttribute('aria-pressed', String(button.dataset.view === now)));
    const nodes = { raw: () => rawText(shown.text, label), rendered: () => rendered(shown.markup), diff: () => difference(reference, shown.text) };
    place.replaceChildren(...[nodes[now]()].flat(Infinity).filter(Boolean));
  };
  const block = el('div', { class: 'text-views' },
    views.length > 1 && el('div', { class: 'view-choices', role: 'group', 'aria-label': `View of: ${label}` }, buttons),
    place, shown.cut && el('p', { class: 'soft small' }, said(shown.cut)));
  drawnViews.push(draw);
  draw();
  return block;
}

/** What draws the views that are on the page. */
let drawnViews = [];

function redraw() {
  drawnViews.forEach((draw) => draw());
}

/** The next view, for the key. */
function cycleView() {
  const buttons = [...document.querySelectorAll('.output .view-choice')];
  const names = [...new Set(buttons.map((button) => button.dataset.view))];
  if (names.length < 2) return;
  const now = buttons.find((button) => button.getAttribute('aria-pressed') === 'true')?.dataset.view;
  chosenView = names[(names.indexOf(now) + 1) % names.length];
  redraw();
  announce(VIEW_NAMES[chosenView]);
}
