// The rows of the table of cases: a grid of which only the rows in sight exist.

/** Heights of a row in pixels, as in cases.css. */
const CASE_ROW = 44;
const CASE_ROW_NARROW = 60;
/** Rows beyond the edges. */
const CASE_SPARE = 6;
/** Pixels of rows that are drawn at most. */
const TALLEST_SIGHT = 4_000;

function caseGrid() {
  const data = casesData();
  const columns = CASE_COLUMNS.filter(({ name, optional }) => !optional || data.columns[name]?.some((value) => value !== null && value !== ''));
  const narrow = matchMedia('(max-width: 700px)');
  const height = () => (narrow.matches ? CASE_ROW_NARROW : CASE_ROW);
  const head = el('div', { class: 'case-row case-head', role: 'row', 'aria-rowindex': '1' }, columns.map(caseHeadCell));
  const rows = el('div', { class: 'case-rows', role: 'rowgroup' });
  const root = el('div', {
    class: 'case-grid', id: 'case-grid', role: 'grid', tabindex: '0', 'aria-label': 'Cases', 'aria-colcount': columns.length,
    variables: { '--columns': columns.map(({ width }) => width).join(' ') },
  }, el('div', { role: 'rowgroup', class: 'case-head-group' }, head), rows);
  let found = [];
  let drawn = '';
  let onPaper = false;

  const draw = () => {
    if (onPaper) return;
    const tall = height();
    // Where nothing holds the table back it is as high as all of its rows.
    const inSight = Math.ceil(Math.min(root.clientHeight || 600, TALLEST_SIGHT) / tall);
    const first = Math.max(0, Math.floor(root.scrollTop / tall) - CASE_SPARE);
    const last = Math.min(found.length, first + inSight + 2 * CASE_SPARE);
    const now = `${first} ${last} ${tall} ${casesView.active}`;
    if (now === drawn) return;
    drawn = now;
    rows.style.setProperty('height', `${found.length * tall}px`);
    rows.replaceChildren(...found.slice(first, last).map((row, at) => caseRow(row, first + at, columns, tall)));
    const active = document.getElementById(`case-row-${casesView.active}`);
    active && found.length > 0 ? root.setAttribute('aria-activedescendant', active.id) : root.removeAttribute('aria-activedescendant');
  };
  const move = (to) => {
    casesView.active = Math.max(0, Math.min(found.length - 1, to));
    const tall = height();
    const top = casesView.active * tall;
    const room = root.clientHeight - head.offsetHeight;
    if (top < root.scrollTop) root.scrollTop = top;
    else if (top + tall > root.scrollTop + room) root.scrollTop = top + tall - room;
    draw();
  };
  let waiting = false;
  root.addEventListener('scroll', () => {
    casesView.scrolled = root.scrollTop;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }, { passive: true });
  root.addEventListener('keydown', (event) => {
    if (event.target !== root || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((root.clientHeight - head.offsetHeight) / height()) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity, j: 1, k: -1 };
    if (event.key in steps) {
      event.preventDefault();
      move(casesView.active + steps[event.key]);
    } else if (event.key === 'Enter' && found.length > 0) {
      event.preventDefault();
      go({ case: caseId(found[casesView.active]) });
    }
  });
  rows.addEventListener('click', (event) => {
    const line = event.target.closest('[data-row]');
    if (!line || event.button !== 0 || String(getSelection())) return;
    casesView.active = Number(line.dataset.at);
    // The link opens by itself, in another tab when asked to.
    if (!event.target.closest('a')) go({ case: caseId(Number(line.dataset.row)) });
  });
  narrow.addEventListener('change', () => { drawn = ''; draw(); });
  new ResizeObserver(draw).observe(root);

  return {
    root,
    show(next, top) {
      found = next;
      drawn = '';
      onPaper = false;
      casesView.active = Math.max(0, Math.min(casesView.active, found.length - 1));
      root.setAttribute('aria-rowcount', String(found.length + 1));
      for (const cell of head.children) caseSorted(cell);
      if (top) { root.scrollTop = 0; }
      draw();
    },
    /** As on paper, where nothing scrolls: so many rows, one below the other. */
    spread(most) {
      onPaper = true;
      rows.style.setProperty('height', 'auto');
      rows.replaceChildren(...found.slice(0, most).map((row, at) => caseRow(row, at, columns, height())));
    },
    scroll(to) {
      rows.style.setProperty('height', `${found.length * height()}px`);
      root.scrollTop = to;
      drawn = '';
      draw();
    },
  };
}

function caseId(row) {
  return [casesData().evalOf(row).id, casesData().columns.id[row]];
}

/** A head whose button sorts: up, down, and the plan's order again. */
function caseHeadCell(column) {
  const next = () => {
    const { sort } = casesView.state;
    return sort === column.name ? `-${column.name}` : sort === `-${column.name}` ? undefined : column.name;
  };
  return el('div', { role: 'columnheader', class: `cell cell-${column.name}`, 'data-column': column.name },
    el('button', { type: 'button', class: 'sort', onclick: () => casesView.change({ sort: next() }) },
      column.title, el('span', { class: 'arrow', 'aria-hidden': 'true' })));
}

function caseSorted(cell) {
  const { sort } = casesView.state;
  const { column } = cell.dataset;
  const order = sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : 'none';
  cell.setAttribute('aria-sort', order);
  cell.querySelector('.arrow').textContent = { ascending: '▲', descending: '▼', none: '' }[order];
}

function caseRow(row, at, columns, tall) {
  const { columns: data } = casesData();
  const outcome = data.outcome[row];
  const [evalId, id] = caseId(row);
  const cause = casesData().causeOf(row);
  const cells = {
    outcome: () => [badge(outcome, outcome), data.flaky[row] === 1 && el('span', { class: 'flaky', title: 'passed on a later attempt only' }, 'flaky')],
    case: () => [
      el('a', { href: address({ case: [evalId, id] }), class: 'case-id', tabindex: '-1' },
        id === evalId ? said(id) : [el('span', { class: 'soft' }, said(evalId), ' › '), said(id)]),
      data.name[row] && data.name[row] !== id && el('span', { class: 'case-name soft' }, said(data.name[row])),
    ],
    output: () => [
      el('span', { class: 'output' }, said(data.output[row])),
      data.expected[row] && el('span', { class: 'expected' }, el('span', { class: 'soft' }, 'expected '), said(data.expected[row])),
    ],
    samples: () => {
      const { passed, graded } = data;
      const tone = isMixed(row) ? 'errored' : passed[row] === 0 && graded[row] > 0 ? 'failed' : null;
      const text = CASE_COLUMNS.find(({ name }) => name === 'samples').text(row);
      return el('span', { class: text && tone ? `part-passed tone-${tone}` : null }, text);
    },
    cause: () => [cause && el('span', { class: 'cause' }, cause), data.reason[row] && el('span', { class: 'reason' }, said(data.reason[row]))],
  };
  return el('div', {
    class: `case-row${at === casesView.active ? ' active' : ''}${cause || data.reason[row] ? ' explained' : ''}`, role: 'row', id: `case-row-${at}`, 'aria-rowindex': at + 2, 'data-row': row, 'data-at': at,
    variables: { '--top': `${at * tall}px` },
  }, columns.map((column) => el('div', { role: 'gridcell', class: `cell cell-${column.name}`, 'data-title': column.number ? column.title : null },
    cells[column.name]?.() ?? column.text(row))));
}
