// Parts of the overview that measure: metrics, groups, distributions, what was used.

const UNIT_TICKS = [{ at: 0, text: '0' }, { at: 0.25, text: '0.25' }, { at: 0.5, text: '0.5' }, { at: 0.75, text: '0.75' }, { at: 1, text: '1' }];
const PERCENT_TICKS = [{ at: 0, text: '0 %' }, { at: 0.5, text: '50 %' }, { at: 1, text: '100 %' }];

/** Statuses of thresholds and outcomes as words with their signs. */
function verdict(name, label) {
  return badge(name, [el('span', { 'aria-hidden': 'true' }, `${SIGNS[name] ?? ''} `), label ?? name]);
}

function runMetricsCard({ rows, interval_label: label, interval_notes: notes, ranged }, curves) {
  if (rows.length === 0) return null;
  const drawn = rows.filter((row) => row.drawn && !row.undefined);
  const plain = rows.filter((row) => !row.drawn && !row.undefined);
  const undefined_ = rows.filter((row) => row.undefined);
  const limits = drawn.some((row) => row.limits.length > 0);
  const chart = drawn.length > 0 && intervalChart({
    label: 'Metrics',
    caption: `Rates and scores, with ${label}`,
    note: [limits && 'dashed line: threshold', ranged && 'pale band: from worst to best'].filter(Boolean).join('; '),
    min: 0, max: 1, ticks: UNIT_TICKS,
    rows: drawn.map((row) => ({
      name: row.name, value: row.at.value, low: row.at.low, high: row.at.high, range: row.at.range,
      tone: row.status ?? 'info', marks: row.limits, text: el('strong', {}, row.value), detail: row.interval,
      said: `${row.value} ${row.interval}`,
      note: [row.limits.map((limit) => `${limit.needs}: ${limit.status}`).join(', '), row.range && `open: ${row.range}`].filter(Boolean).join(' · '),
    })),
  });
  const cells = [
    { title: 'Other figures', cell: (row) => said(row.name) },
    { title: 'Value', number: true, cell: (row) => row.value },
    { title: label, number: true, cell: (row) => row.interval },
    { title: '[worst, best]', number: true, cell: (row) => row.range },
    { title: 'Threshold', cell: (row) => row.limits.length > 0 && row.limits.map((limit) => [verdict(limit.status), ` ${limit.needs} `]) },
    { title: 'Cases', number: true, cell: (row) => row.cases },
  ].filter(({ cell }) => plain.some((row) => cell(row)));
  const others = plain.length > 0 && table('Other figures', cells, plain.map((row) => cells.map(({ cell }) => cell(row))));
  const unknown = undefined_.length > 0 && el('div', {}, el('h3', {}, 'Undefined'),
    el('ul', { class: 'plain' }, undefined_.map((row) => el('li', {}, el('strong', {}, said(row.name)), ': ', said(row.undefined),
      row.limits.map((limit) => [' ', verdict(limit.status), ` needs ${limit.needs}`])))));
  const all = el('details', {}, el('summary', {}, 'How these were computed'),
    ranged && el('p', { class: 'soft small' }, '[worst, best]: the value if all errored, skipped and pending samples had failed, or had passed.'),
    table('Metrics with their methods',
      [{ title: 'Metric' }, { title: 'Value', number: true }, { title: label }, { title: 'Interval by' }, { title: 'Cases', number: true }, ranged && { title: '[worst, best]' }].filter(Boolean),
      rows.map((row) => [said(row.name), row.value, row.interval, row.method, row.cases, ranged && row.range].filter((cell) => cell !== false))));
  const curved = curves.length > 0 && curve({ label: 'pass@k and pass^k over k', series: curves, note: 'first attempts only', max: 1 });
  const about = notes.length > 0 && el('p', { class: 'soft small' }, notes.join(' '));
  return card('Metrics', el('div', { class: curved ? 'with-curve' : null }, chart || null, curved || null), others || null, about || null, unknown || null, all);
}

/** Pass rates by type, category, tag and grader: a card of charts. */
function groupsCard(groups) {
  if (groups.length === 0) return null;
  const ticks = PERCENT_TICKS;
  return card('Pass rates', el('p', { class: 'soft small' }, 'Over what was graded, lowest first, with 95 % intervals where they are known. A name links to its cases.'),
    el('div', { class: 'cards tight' }, groups.map(({ by, unit, rows, more, intervals }) => intervalChart({
      label: `Pass rate by ${by}`, note: `${unit}${intervals ? '' : ': no interval for evals like these'}`, min: 0, max: 1, ticks, shown: 12,
      rows: rows.map((row) => groupRow(by, row)).concat(more > 0 ? [{ name: `and ${grouped(more)} more, in the JSON report`, text: '' }] : []),
    }))));
}

function groupRow(by, { name, counts, value, low, high, interval }) {
  const open = ['errored', 'skipped', 'pending'].filter((outcome) => counts[outcome] > 0).map((outcome) => `${grouped(counts[outcome])} ${outcome}`).join(', ');
  const graded = counts.passed + counts.failed;
  return {
    name, value, low, high,
    href: by === 'grader' ? null : address({ view: 'cases', [by]: name }),
    tone: value === null ? 'none' : counts.failed > 0 ? 'info' : 'pass',
    text: graded > 0 ? el('strong', {}, counts.rate) : 'not known',
    detail: graded > 0 && `${grouped(counts.passed)}/${grouped(graded)}`,
    said: `${counts.rate} ${interval ?? ''}, ${grouped(counts.passed)} of ${grouped(graded)} passed${open && `, ${open}`}`,
    note: open,
  };
}

/** Samples by cause, and what verdicts over code rest on. */
function causesCard(causes) {
  if (causes.length === 0) return null;
  return card('Causes', bars({
    label: 'Samples by cause', columns: ['Cause', 'Samples'],
    rows: causes.map(({ cause, samples, outcome }) => ({ name: cause, count: samples, tone: outcome ?? 'none', href: address({ view: 'cases', cause }) })),
  }));
}

function trustCard(levels) {
  if (levels.length === 0) return null;
  return card('Trust in verdicts on code', table('Trust in verdicts on code',
    [{ title: 'What the verdicts rest on' }, { title: 'Name' }, { title: 'Samples', number: true }, { title: 'Grades', number: true }],
    levels.map(({ level, samples, grades, meaning }) => [capital(meaning), el('code', {}, level), grouped(samples), grouped(grades)])));
}

/** How scores and latencies are spread. */
function distributionsCard({ scores, latency }) {
  if (!scores && !latency) return null;
  const scoreChart = scores && histogram({
    label: 'Scores of cases', bins: scores.bins.map((bin, n) => ({ ...bin, tone: n === 11 ? 'pass' : n === 0 ? 'fail' : 'info' })),
    ticks: [{ at: 0.5, text: '0' }, { at: 6, text: '0.5' }, { at: 11.5, text: '1' }], columns: ['Score', 'Cases'],
  });
  const every = latency && Math.max(1, Math.ceil(latency.edges.length / 6));
  const latencyChart = latency && histogram({
    label: 'Latency of the target', note: latency.samples, bins: latency.bins, columns: ['Latency', 'Samples'],
    ticks: latency.edges.map((text, at) => ({ at, text })).filter(({ at }) => at % every === 0),
  });
  return card('Distributions', el('div', { class: 'cards tight' }, scoreChart || null, latencyChart || null));
}

/** Tokens and cost by eval. */
function usageCard(usage) {
  if (!usage) return null;
  const { rows, more, costly } = usage;
  const line = (row) => [link({ view: 'cases', eval: row.eval }, {}, said(row.eval)), row.input, row.output, costly && row.cost].filter((cell) => cell !== false);
  const columns = [{ title: 'Eval' }, { title: 'Tokens in', number: true }, { title: 'Tokens out', number: true }, costly && { title: 'Cost', number: true }].filter(Boolean);
  const shown = 8;
  // Only the lengths of bars come from these numbers; a billionth of a dollar keeps the smallest apart.
  const length = (row) => (costly ? Math.round((row.usd ?? 0) * 1e9) : row.tokens);
  const bar = (row) => ({ name: row.eval, href: address({ view: 'cases', eval: row.eval }), count: length(row), text: costly ? row.cost : `${row.input} + ${row.output}` });
  return card('Tokens and cost',
    rows.length > 1 && bars({ label: costly ? 'Cost by eval' : 'Tokens by eval, in and out', rows: rows.slice(0, shown).map(bar) }),
    costly ? null : el('p', { class: 'soft small' }, 'No price is known for these tokens.'),
    rows.length > 1
      ? folded(`Numbers of ${plural(rows.length, 'eval')}`, () => table('Tokens and cost by eval', columns, rows.map(line)))
      : table('Tokens and cost by eval', columns, rows.map(line)),
    more > 0 ? el('p', { class: 'soft small' }, `${grouped(more)} more in the JSON report`) : null);
}

/** Runs before this one, as a line. */
function historyCard(runs) {
  if (!runs || runs.length === 0) return null;
  return card('Earlier runs', sparkline({
    label: 'Pass rate of cases', note: 'the newest on the right; the last is this run',
    columns: [{ title: 'Run' }, { title: 'Began' }, { title: 'Commit' }, { title: 'Gate' }, { title: 'Cases passed', number: true }],
    points: runs.map((run) => ({
      title: run.run, text: run.text, value: run.value, tone: run.decision?.name ?? 'none',
      cells: [said(run.run), readableTime(run.timestamp), run.commit && el('code', {}, said(run.commit)), run.decision ? verdict(run.decision.name, run.decision.label) : 'not decided', run.text],
    })),
  }));
}

/** A moment of a report, without what nobody reads. */
function readableTime(timestamp) {
  return el('time', { datetime: timestamp }, said(timestamp.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')));
}

/** Something that is made only when somebody unfolds it. */
function folded(summary, make) {
  const node = el('details', {}, el('summary', {}, summary));
  node.addEventListener('toggle', () => {
    if (node.open && node.children.length === 1) node.append(make());
  });
  return node;
}
