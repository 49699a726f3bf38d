// Several runs beside each other: a column each; the differences of each pair are tested.

/** A value with its interval on the axis of its row. */
function sideCell(cell, metric) {
  const at = (value) => placeOn(value, metric.min, metric.max);
  if (cell.undefined) return el('span', { class: 'cell' }, el('span', { class: 'soft' }, cell.value), el('span', { class: 'soft small' }, said(cell.undefined)));
  const words = [cell.value, cell.interval].filter(Boolean).join(' ');
  return el('span', { class: 'cell' },
    el('span', {}, el('strong', {}, cell.value), ' ', el('span', { class: 'soft' }, cell.interval)),
    isNumber(cell.at) && metric.max > metric.min && picture(words, { class: 'plot', height: 12 },
      svg('line', { class: 'track', x1: 0, x2: '100%', y1: 6, y2: 6 }),
      cell.ci && svg('line', { class: 'ends', x1: at(cell.ci[0]), x2: at(cell.ci[1]), y1: 6, y2: 6 }),
      svg('circle', { class: 'point', cx: at(cell.at), cy: 6, r: 4 })),
    cell.range && el('span', { class: 'soft small' }, `${cell.range} if all samples without a grade had failed, or passed`));
}

function outcomeCell(cell) {
  if (!cell) return el('span', { class: 'soft' }, 'not run');
  const [outcome, words] = cell;
  return el('span', { class: `ended tone-${outcome}` }, el('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[outcome]), ` ${words}`,
    words !== outcome && el('span', { class: 'away' }, ` (${outcome})`));
}

function sideColumns(first) {
  return [{ title: first }, ...report.runs.map((run) => ({ title: said(run.label) }))];
}

/** A table whose columns are the targets. */
function sidesOf(label, first, rows) {
  const node = table(label, sideColumns(first), rows);
  node.classList.add('columns');
  return node;
}

function sidesGates() {
  const row = (name, cell) => [name, ...report.runs.map(cell)];
  const models = report.runs.some((run) => run.model);
  return card('Gates',
    sidesOf('Gates by target', 'Gate', [
      row('Decision', (run) => badge(run.decision.name, run.decision.label)),
      models && row('Model', (run) => (run.model ? said(run.model) : '–')),
      row('Cases passed', (run) => el('span', { class: 'cell' }, run.passed,
        stackedBar({ label: `Cases of ${run.label}`, plain: true, parts: run.counts.map(([name, count]) => ({ tone: name, name, count })) }))),
      row('Time', (run) => run.duration),
      row('Began', (run) => readableTime(run.timestamp)),
      ['Run', ...report.runs.map((run, at) => (report.opened.pages[at] ? el('a', { page: report.opened.pages[at] }, said(run.run_id)) : said(run.run_id)))],
    ].filter(Boolean)),
    report.runs.filter((run) => run.reasons.length > 0).map((run) => el('div', { class: 'some' },
      el('h3', {}, said(run.label)), el('ul', { class: 'reasons' }, run.reasons.map((reason) => el('li', {}, said(reason)))))));
}

function sidesMetrics() {
  const rows = report.metrics.map((metric) => [said(metric.name), ...metric.cells.map((cell) => sideCell(cell, metric))]);
  return card('Metrics', rows.length > 0 ? sidesOf('Metrics by target', 'Metric', rows) : el('p', { class: 'soft' }, 'No metric was measured.'),
    el('p', { class: 'soft small' }, 'In brackets: the 95 % interval of each run.'));
}

/** Whether the runs differ by more than chance: a line for each pair. */
function sidesPairs() {
  if (report.pairs.length === 0) return null;
  const columns = [
    { title: 'From' }, { title: 'To' }, { title: said(report.pair_metric), number: true }, { title: '95 % CI' }, { title: 'p', number: true },
    { title: 'n', number: true }, { title: 'Broke', number: true }, { title: 'Fixed', number: true }, { title: 'Verdict' },
  ];
  const tone = (row) => (row.is_better === null ? 'soft' : `tone-${row.is_better ? 'passed' : 'failed'}`);
  const rows = report.pairs.map((row) => [
    said(row.first), said(row.second), row.difference, row.interval, row.p, row.n, row.only_first, row.only_second,
    el('span', { class: tone(row) }, row.verdict),
  ]);
  return card('Differences', table('Differences of each pair', columns, rows),
    report.pair_notes.map((note) => el('p', { class: 'soft small' }, note)),
    report.compare && labelledCommand('One pair in full', report.compare));
}

/** A line of names and of cells, one for each target. */
function sidesLine(name, cells) {
  const cell = (node, n) => el('span', { class: 'side-cell' }, el('span', { class: 'of-target' }, said(report.runs[n].label), ': '), node);
  return el('span', { class: 'side-line', variables: { '--targets': report.runs.length } }, el('span', { class: 'name' }, name), cells.map(cell));
}

/** Lines that are searched; `make` gives what a line opens into. */
function sidesList({ label, noun, rows, words, name, make }) {
  return siftedList({
    label, noun, rows, words,
    wrap() {
      const head = el('div', { class: 'side-line side-head soft small', 'aria-hidden': 'true', variables: { '--targets': report.runs.length } },
        el('span', {}, noun[0].toUpperCase() + noun.slice(1)), report.runs.map((run) => el('span', {}, said(run.label))));
      const body = el('ul', { class: 'lines', 'aria-label': label });
      return { node: el('div', {}, head, body), body };
    },
    draw: (row) => openedLine({ class: 'side-row' }, sidesLine(name(row), row.cells.map(outcomeCell)), make?.(row)),
  }).node;
}

/** Evals by their counts; the cases below say why they differ. */
function sidesEvals() {
  const { evals, alike, cases } = report;
  const rest = evals.length > 0 && alike && el('p', { class: 'soft small' }, `${alike} had the same outcome in each run.`);
  const node = card('Evals that differ',
    evals.length > 0 ? sidesList({ label: 'evals by target', noun: 'eval', rows: evals, words: (row) => row.id, name: (row) => said(row.id) })
      : el('p', {}, 'Every eval had the same outcome in each run.'), rest);
  return cases?.length > 0 ? foldedCard(node, plural(evals.length, 'eval')) : node;
}

function sidesCases() {
  const { cases, opened } = report;
  if (cases === null) return card('Cases that differ', el('p', {}, 'The runs are too large to list the cases with different outcomes.'));
  if (cases.length === 0) return null;
  const places = new Map(cases.map((row, place) => [row, place]));
  const labels = report.runs.map((run) => run.label);
  const list = sidesList({
    label: 'cases by target', noun: 'case', rows: cases,
    words: (row) => `${row.eval} ${row.case} ${row.cells.map((cell) => cell?.join(' ') ?? 'not run').join(' ')}`,
    name: (row) => [row.eval !== row.case && el('span', { class: 'soft' }, said(row.eval), ' › '), said(row.case)],
    make: (row) => openedCase(opened, places.get(row), labels, [row.eval, row.case]),
  });
  return card('Cases that differ', list, rowsCut(opened));
}

views.set('sides', {
  label: 'Side by side',
  kinds: ['sides'],
  draw(main) {
    main.append(...[
      el('div', { class: 'lead' }, el('p', { class: 'soft' }, said(report.subject ?? '')), el('h1', {}, `${report.count} side by side`)),
      report.cautions.length > 0 && el('section', { class: 'card', 'aria-label': 'Cautions' }, el('ul', { class: 'remarks' }, report.cautions.map((words) =>
        el('li', {}, el('span', { class: 'sign tone-errored', 'aria-hidden': 'true' }, '!'), el('span', {}, said(words)))))),
      sidesGates(),
      sidesPairs(),
      sidesCases(),
      sidesEvals(),
      sidesMetrics(),
    ].filter(Boolean));
  },
});
