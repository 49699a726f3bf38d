// A run held against another: the parts that its own page and the page of a run share.

const VERDICT_SIGNS = { regression: '▼', improvement: '▲', none: '○', undecided: '!', untested: '!' };
const VERDICT_TONES = { regression: 'regression', improvement: 'improvement', none: 'none', undecided: 'incomplete', untested: 'incomplete' };
const LEANING_SIGNS = { worse: '▼', better: '▲' };
const LEANING_TONES = { worse: 'regression', better: 'improvement' };
const FLIP_SIGNS = { broken: '✗', fixed: '✓', 'still failing': '✗', 'without a grade': '!', changed: '~', new: '+', gone: '–' };
const FLIP_TONES = { broken: 'failed', fixed: 'passed', 'still failing': 'skipped', 'without a grade': 'errored', changed: 'skipped', new: 'skipped', gone: 'skipped' };

/** The verdict and what it rests on. `level` is the element of its title. */
function verdictOf(candidate, level) {
  const { name, title } = candidate.headline;
  return [
    el(level, { class: 'headline' }, el('span', { class: 'sign', 'aria-hidden': 'true' }, VERDICT_SIGNS[name]), ' ', title),
    candidate.undecided && el('p', { class: 'open' }, prose(candidate.undecided)),
    candidate.first && el('p', { class: 'first' }, prose(candidate.first)),
    candidate.further.length > 0 && el('p', { class: 'soft' }, candidate.further.map((words) => [prose(words), ' '])),
    candidate.readings.length > 0 && el('dl', { class: 'readings' }, candidate.readings.map(([when, tone, words]) =>
      el('div', {}, el('dt', {}, capital(when)), el('dd', {}, badge(tone, `${VERDICT_SIGNS[tone]} ${words}`))))),
    candidate.notes.length > 0 && el('ul', { class: 'remarks' }, candidate.notes.map((note) =>
      el('li', {}, el('span', { class: 'sign tone-errored', 'aria-hidden': 'true' }, '!'), prose(note)))),
  ];
}

function verdictTone(candidate) {
  return `tone-${VERDICT_TONES[candidate.headline.name]}`;
}

/** A sentence as the other formats write it, with a capital and an end. */
function sentence(words) {
  const text = capital(String(words).trim());
  return text === '' || /[.!?:]$/u.test(text) ? text : `${text}.`;
}

/** A sentence in which words between backticks are names. */
function prose(words) {
  const parts = sentence(words).split('`');
  return parts.length % 2 === 0 ? said(sentence(words)) : parts.map((part, at) => (at % 2 === 1 ? el('code', {}, said(part)) : part && said(part)));
}

function capital(text) {
  // A metric's name stays as it is.
  return /^[a-z]+[ ,]/u.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
}

/** Differences around zero. `most` rows are drawn before the rest is folded. */
function differencePlot(plot, { most = 20, label = 'Differences' } = {}) {
  const ends = { left: plot.worse === 'left' ? 'worse' : 'better', right: plot.worse === 'left' ? 'better' : 'worse' };
  const chart = intervalChart({
    label: `${label}: ${plot.title}`,
    caption: plot.title,
    note: plot.rows.some((row) => row.range) ? 'dashed: if all samples without a grade had counted against, or for, the candidate' : null,
    min: plot.min,
    max: plot.max,
    zero: 0,
    ticks: plot.ticks,
    shown: most,
    rows: plot.rows.map((row) => ({
      name: el('span', {}, said(row.name), row.decides && el('abbr', { title: 'the verdict depends on it' }, ' *')),
      value: row.value,
      low: row.low,
      high: row.high,
      text: [row.leaning && `${LEANING_SIGNS[row.leaning]} `, row.text].filter(Boolean).join(''),
      tone: row.leaning ? LEANING_TONES[row.leaning] : 'none',
      marks: (row.range ?? []).map((at) => ({ at, title: `${row.said} if all samples without a grade had counted against, or for, the candidate` })),
    })),
  });
  chart.classList.add('differences');
  if (plot.worse) {
    const zero = placeOn(0, plot.min, plot.max);
    for (const list of chart.querySelectorAll('.interval-rows')) {
      list.prepend(el('li', { class: 'axis directions', 'aria-hidden': 'true' }, el('span', { class: 'ticks', variables: { '--at': zero } },
        el('span', { class: 'direction left' }, `◂ ${ends.left}`), el('span', { class: 'direction right' }, `${ends.right} ▸`))));
    }
  }
  return chart;
}

function markedDifference(line) {
  const tone = line.moved && line.leaning ? LEANING_TONES[line.leaning] : null;
  return el('span', { class: tone && `marked tone-${tone}` }, tone && `${LEANING_SIGNS[line.leaning]} `, line.difference);
}

function decidingName(line) {
  return line.decides ? el('strong', {}, said(line.name), ' *') : said(line.name);
}

/** Metrics or groups as a table. */
function differenceTable(label, first, lines, level, flips) {
  const columns = [{ title: first }, ...['Reference', 'Candidate', 'Difference', `${level} interval`, 'p', 'Paired'].map((title) => ({ title, number: true }))];
  if (flips) columns.push({ title: 'Broken', number: true }, { title: 'Fixed', number: true });
  const node = table(label, columns, lines.map((line, at) => [
    decidingName(line), line.reference, line.candidate,
    line.undefined ? el('span', { class: 'soft' }, 'n/a') : markedDifference(line),
    line.interval, line.p, line.n,
    ...(flips ? [grouped(flips[at].broken), grouped(flips[at].fixed)] : []),
  ]));
  node.classList.add('figures');
  return node;
}

/** Why there is no difference, and how far what has no grade could move one. */
function differenceRemarks(lines) {
  const remarks = lines.flatMap((line) => [
    line.undefined && [said(line.name), ': ', said(sentence(line.undefined))],
    line.range && [said(line.name), ` ${line.range} if all samples without a grade had counted against, or for, the candidate.`],
  ].filter(Boolean));
  return remarks.length > 0 && el('ul', { class: 'plain small' }, remarks.map((words) => el('li', {}, words)));
}

/** The numbers of cases by what became of them; each leads to the list of its cases. */
function flipTiles(cases, href) {
  const count = (name) => cases.kinds.find((kind) => kind.name === name)?.count ?? 0;
  const tile = (name, n) => {
    const content = [el('span', { class: 'sign', 'aria-hidden': 'true' }, FLIP_SIGNS[name] ?? '✓'), el('strong', {}, grouped(n)), el('span', { class: 'name' }, name)];
    const tone = n > 0 ? FLIP_TONES[name] ?? 'skipped' : 'skipped';
    return el('li', {}, n > 0 && href && name !== 'still passing'
      ? el('a', { class: `tile tone-${tone}`, href: href(name) }, content)
      : el('span', { class: `tile tone-${tone}` }, content));
  };
  const apart = ['without a grade', 'changed', 'new', 'gone'].filter((name) => count(name) > 0);
  return el('ul', { class: 'tiles', 'aria-label': 'Results of the cases' },
    ['broken', 'fixed', 'still failing'].map((name) => tile(name, count(name))),
    tile('still passing', cases.still_passing), apart.map((name) => tile(name, count(name))));
}

/** True where the page has the case that a flip is of. */
function hasFlippedCase(evalId, caseId) {
  return report.kind === 'run' && casesData().rowOf(evalId, caseId) !== undefined;
}

/** One case and what became of it; `kind` is its kind's name, `make` what the line opens into. */
function flipLine([, evalId, caseId, passes, critical], kind, make = null) {
  const name = [evalId !== caseId && [el('span', { class: 'of' }, said(evalId)), el('span', { class: 'soft' }, ' › ')], said(caseId)];
  return openedLine({ class: `flip tone-${FLIP_TONES[kind]}` }, [
    el('span', { class: 'sign', 'aria-hidden': 'true' }, FLIP_SIGNS[kind]),
    el('span', { class: 'name' },
      hasFlippedCase(evalId, caseId) ? link({ case: [evalId, caseId] }, {}, name) : name,
      critical === 1 && [' ', badge(kind === 'broken' ? 'failed' : 'info', 'critical')]),
    el('span', { class: 'soft small kind' }, kind),
    el('span', { class: 'passes' }, passes),
  ], make);
}


/** The comparison in the overview of a run; `data` is `report.comparison`. */
function comparisonCard(data) {
  const { shown } = data;
  const [plot] = shown.plots;
  const broken = shown.cases.kinds.findIndex((kind) => kind.name === 'broken');
  const first = shown.cases.flips.filter((flip) => flip[0] === broken).slice(0, 5);
  const left = (shown.cases.kinds[broken]?.count ?? 0) - first.length;
  const node = card(`Compared with ${shown.reference.label}`,
    verdictOf(shown, 'p'),
    plot && differencePlot({ ...plot, rows: plot.rows.slice(0, 5) }),
    flipTiles(shown.cases, (kind) => address({ view: 'comparison', kind })),
    first.length > 0 && el('div', { class: 'some' }, el('h3', {}, 'Broken cases'),
      el('ul', { class: 'lines' }, first.map((flip) => flipLine(flip, 'broken'))),
      left > 0 && el('p', { class: 'small' }, link({ view: 'comparison', kind: 'broken' }, {}, `and ${grouped(left)} more`))),
    el('p', { class: 'soft small' }, said(data.bearing)),
    el('p', {}, link({ view: 'comparison' }, {}, 'The whole comparison')));
  node.classList.add('comparison', verdictTone(shown));
  return node;
}
