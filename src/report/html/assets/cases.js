// The table of cases. Only the rows that can be seen are in the document; filters, search and order stand in the address.

/** What is shown now, and what was shown last: a case's page steps through it. */
const casesView = { state: {}, found: null, active: 0, scrolled: 0, fragment: null, paint: null };

const CASE_PARAMETERS = ['outcome', ...CASE_FILTERS, 'flaky', 'mixed', 'q', 'sort'];

function caseParams(state) {
  const params = { view: 'cases' };
  for (const name of CASE_PARAMETERS) if (state[name]) params[name] = state[name];
  return params;
}

function caseState(params) {
  const state = {};
  for (const name of CASE_PARAMETERS) if (params[name]) state[name] = params[name];
  return state;
}

views.set('cases', {
  label: 'Cases',
  kinds: ['run'],
  count: () => casesData().columns.total,
  draw: drawCases,
  update(params) {
    casesView.state = caseState(params);
    casesView.active = 0;
    casesView.paint?.({ controls: true, top: true });
    return true;
  },
});

function drawCases(main, params) {
  const data = casesData();
  const state = caseState(params);
  const back = casesView.fragment === address(caseParams(state));
  casesView.state = state;
  if (!back) Object.assign(casesView, { active: 0, scrolled: 0 });
  const search = el('input', { type: 'search', id: 'search', placeholder: 'Search ids, names, reasons  ( / )', 'aria-label': 'Search cases', autocomplete: 'off', spellcheck: 'false' });
  const chips = el('div', { class: 'chips', role: 'group', 'aria-label': 'Outcomes' });
  const selects = el('div', { class: 'sieves' });
  const count = el('p', { id: 'cases-count', class: 'soft' });
  const grid = caseGrid();
  const nothing = el('div', { class: 'nothing', hidden: true });
  const paper = el('p', { class: 'on-paper' });

  const change = (changes) => {
    Object.assign(casesView.state, changes);
    casesView.active = 0;
    paint({ top: true });
  };
  const paint = ({ controls = false, top = false } = {}) => {
    const { found, counts } = casesThatFit(casesView.state);
    casesView.found = found;
    casesView.fragment = address(caseParams(casesView.state));
    if (!controls && location.hash !== casesView.fragment) {
      // Some browsers take only so many changes of the address in a while; the page works without.
      try { history.replaceState(null, '', casesView.fragment); } catch { /* the next one may go through */ }
    }
    if (controls || document.activeElement !== search) search.value = casesView.state.q ?? '';
    chips.replaceChildren(...caseChips(counts, change));
    for (const select of selects.querySelectorAll('select')) {
      const wanted = casesView.state[select.name] ?? '';
      if (select.name === 'sort' && ![...select.options].some(({ value }) => value === wanted)) select.append(caseSortOption(wanted));
      select.value = wanted;
    }
    const words = `${grouped(found.length)} of ${plural(data.n, 'case')}`;
    count.textContent = words;
    clearTimeout(casesView.telling);
    casesView.telling = setTimeout(() => announce(words), 700);
    nothing.hidden = found.length > 0;
    grid.root.hidden = found.length === 0;
    if (found.length === 0) nothing.replaceChildren(...caseNothing(change));
    grid.show(found, top);
  };
  casesView.paint = paint;
  casesView.change = change;
  casesView.toPaper = () => {
    grid.spread(PAPER_ROWS);
    paper.textContent = casesView.found.length > PAPER_ROWS ? `Only the first ${grouped(PAPER_ROWS)} are printed.` : '';
  };
  search.addEventListener('input', () => change({ q: search.value.trim() }));
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && search.value) {
      event.preventDefault();
      search.value = '';
      change({ q: undefined });
    } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
      event.preventDefault();
      grid.root.focus();
    }
  });
  selects.append(...CASE_FILTERS.map((filter) => caseSelect(filter, change)).filter(Boolean), caseSortSelect(change));

  main.append(
    el('div', { class: 'heading' }, el('h1', {}, 'Cases'), count),
    ...data.columns.left_out.map((sentence) => el('p', { class: 'note' }, sentence)),
    el('div', { class: 'filters' }, search, chips, selects),
    el('div', { class: 'card table-card' }, grid.root, nothing, paper),
    el('p', { class: 'soft small keys' }, 'Arrow keys move, Enter opens a case, / goes to the search.'),
    data.columns.run_failed && el('section', { class: 'card', 'aria-labelledby': 'run-failed' },
      el('h2', { id: 'run-failed' }, 'Run again: cases that did not pass'), command(data.columns.run_failed)));
  paint({ controls: true });
  if (back) grid.scroll(casesView.scrolled);
}

function caseChips(counts, change) {
  const { state } = casesView;
  const on = new Set((state.outcome ?? '').split(',').filter(Boolean));
  const chip = (outcome, text, count, pressed, toggled) =>
    el('button', { type: 'button', class: `chip ${outcome ? `tone-${CASE_KIND_TONES[outcome] ?? outcome}` : ''}`, 'data-outcome': outcome ?? 'all', 'aria-pressed': String(pressed), onclick: (event) => {
      const again = event.currentTarget.dataset.outcome;
      change(toggled());
      document.querySelector(`.chip[data-outcome="${again}"]`)?.focus();
    } }, outcome && el('span', { class: 'dot', 'aria-hidden': 'true' }), text, el('span', { class: 'n' }, grouped(count)));
  const all = Object.values(counts).reduce((sum, n) => sum + n, 0);
  const list = [chip(null, 'All', all, on.size === 0, () => ({ outcome: undefined }))];
  const totals = casesData().columns.outcome;
  for (const outcome of OUTCOMES_BY_URGENCY) {
    if (!on.has(outcome) && !totals?.includes(outcome)) continue;
    list.push(chip(outcome, outcome[0].toUpperCase() + outcome.slice(1), counts[outcome], on.has(outcome), () => {
      const next = new Set(on);
      next.has(outcome) ? next.delete(outcome) : next.add(outcome);
      return { outcome: [...next].join(',') || undefined };
    }));
  }
  for (const [name, text, is] of CASE_KINDS) {
    const count = casesData().rows.filter(is).length;
    if (!state[name] && count === 0) continue;
    list.push(chip(name, text, count, Boolean(state[name]), () => ({ [name]: state[name] ? undefined : '1' })));
  }
  return list;
}

const CASE_KIND_TONES = { flaky: 'errored', mixed: 'errored' };

/** The orders of the table, also where it has no heads to click. */
function caseSortSelect(change) {
  const has = (name) => casesData().columns[name]?.some((value) => value !== null && value !== '');
  const orders = ['', 'plan', 'case', 'score', '-score', ...['latency', 'tokens', 'cost'].filter(has).map((name) => `-${name}`)];
  const select = el('select', { name: 'sort', 'aria-label': 'Order' }, orders.map(caseSortOption));
  select.addEventListener('change', () => change({ sort: select.value || undefined }));
  return select;
}

function caseSortOption(sort) {
  const down = sort.startsWith('-');
  const column = CASE_COLUMNS.find(({ name }) => name === (down ? sort.slice(1) : sort));
  const numbers = down ? 'highest first' : 'lowest first';
  const words = column ? `${column.title}: ${column.number ? numbers : down ? 'Z to A' : 'A to Z'}` : sort === 'plan' ? 'Order: as planned' : 'Order: failures first';
  return el('option', { value: sort }, words);
}

/** A choice among the names of a filter; none when there is nothing to choose. */
function caseSelect(filter, change) {
  const names = [...caseNames(filter)];
  const asked = casesView.state[filter];
  if (names.length < 2 && !asked) return null;
  // A list of thousands helps nobody; links and the search reach the rest.
  const shown = names.slice(0, 500);
  if (asked && !shown.some(([name]) => name === asked)) shown.push([asked, caseNames(filter).get(asked) ?? 0]);
  const label = { eval: 'Eval', type: 'Type', category: 'Category', tag: 'Tag', cause: 'Cause' }[filter];
  const select = el('select', { name: filter, 'aria-label': label },
    el('option', { value: '' }, `${label}: any`),
    shown.map(([name, n]) => el('option', { value: name }, `${caseClipped(name, 60)} (${grouped(n)})`)));
  select.addEventListener('change', () => change({ [filter]: select.value || undefined }));
  return select;
}

function caseClipped(text, most) {
  const characters = [...text.slice(0, 2 * most + 2)];
  return characters.length > most ? `${characters.slice(0, most).join('')}…` : text;
}

/** What to clear when nothing fits. */
function caseNothing(change) {
  const { state } = casesView;
  const set = ['q', 'outcome', 'flaky', 'mixed', ...CASE_FILTERS].filter((name) => state[name]);
  const kind = (name) => CASE_KINDS.find(([known]) => known === name)?.[1];
  const words = (name) => (name === 'q' ? ['search ', said(caseClipped(state.q, 40))] : kind(name) ? [kind(name)] : [`${name} `, said(caseClipped(state[name], 40))]);
  const clear = (changes) => () => { change(changes); document.getElementById('search').focus(); };
  if (set.length === 0) return [el('p', {}, 'This run has no cases.')];
  return [
    el('p', {}, 'No case matches all filters. Clear one:'),
    el('div', { class: 'chips' },
      set.map((name) => el('button', { type: 'button', class: 'chip', onclick: clear({ [name]: undefined }) }, words(name), ' ×')),
      set.length > 1 && el('button', { type: 'button', class: 'chip', onclick: clear(Object.fromEntries(set.map((name) => [name, undefined]))) }, 'Clear all')),
  ];
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, select, textarea')) return;
  const search = document.getElementById('search');
  if (event.key === '/' && search) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === 'Escape' && document.getElementById('main')?.dataset.view === 'cases' && casesView.state.q) {
    casesView.change({ q: undefined });
    search.value = '';
  }
});
