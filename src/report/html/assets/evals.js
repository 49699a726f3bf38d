// Parts of the overview that list: evals, what did not pass, what was flaky, who was asked, where it ran.

/** The place of a case as a link to its page. */
function caseLink(eval_, id) {
  const words = eval_ === id ? said(id) : [said(eval_), el('span', { class: 'soft' }, ' › '), said(id)];
  return link({ case: [eval_, id] }, { class: 'case-link' }, words);
}

/** Lines of a value that the overview shows before the rest is folded. */
const OVERVIEW_LINES = 6;
/** A value of at most so many characters on a line needs no box. */
const INLINE_VALUE = 120;

/** Expected and actual of a failure: short ones on a line each, others as on the page of the case. */
function failureSides({ outcome, expected, actual }) {
  const both = [expected, actual].filter(Boolean);
  if (both.length === 0) return null;
  if (both.some(({ text, cut }) => cut || text.length > INLINE_VALUE || text.includes('\n'))) {
    return sidesView({ outcome, expected }, actual, { lines: OVERVIEW_LINES });
  }
  const words = expected && actual && wordDiff(expected.text, actual.text);
  const side = (label, shown, pieces, tone) => shown && el('div', { class: `side ${tone}` },
    el('dt', {}, label), el('dd', {}, el('code', {}, pieces ? inPieces(pieces) : shown.text === '' ? el('span', { class: 'soft' }, '(empty)') : said(shown.text))));
  return el('dl', { class: 'both' }, side('Expected', expected, words?.[0], 'missing'), side('Actual', actual, words?.[1], 'extra'));
}

/** Failures, as a list. `tolerated`: of cases that passed. */
function failureList(first, tolerated) {
  return el('ul', { class: 'failures' }, first.map((failure) => el('li', { class: 'failure' },
    el('div', { class: 'line' },
      tolerated
        ? el('span', { class: 'soft small' }, `${plural(failure.samples, 'sample')} ${failure.outcome}`)
        : verdict(failure.outcome),
      caseLink(failure.eval, failure.case),
      failure.cause && el('code', { class: 'cause' }, failure.cause),
      !tolerated && failure.samples > 1 && el('span', { class: 'soft small' }, plural(failure.samples, 'sample')),
      failure.name && el('span', { class: 'soft small' }, said(failure.name))),
    failure.reason && el('p', { class: 'why' }, said(failure.reason)),
    failureSides(failure))));
}

/** The cases that did not pass. */
function failuresCard({ failed: { first, more }, unlisted }) {
  const hidden = more + unlisted;
  const counts = report.counts.cases;
  const all = ['failed', 'errored'].filter((outcome) => counts[outcome] > 0 && hidden > 0);
  if (first.length + all.length === 0) return null;
  return card('Not passed', first.length > 0 && failureList(first, false),
    all.length > 0 && el('p', { class: 'all' }, all.map((outcome, at) => [at > 0 && ', ',
      link({ view: 'cases', outcome }, {}, counts[outcome] === 1 ? `The ${outcome} case` : `All ${plural(counts[outcome], `${outcome} case`)}`)])));
}

/** Cases that passed although some of their samples did not. */
function toleratedCard({ tolerated: { first, more, total } }) {
  if (total === 0) return null;
  return card('Passed with failed samples',
    el('p', { class: 'soft small' }, 'Enough samples of these cases passed; the others failed or have no grade.'),
    failureList(first, true),
    more > 0 && el('p', { class: 'all' }, link({ view: 'cases', outcome: 'passed', mixed: true }, {}, `All ${plural(total, 'case')}`)));
}

function flakyCard({ first, more }) {
  if (first.length === 0) return null;
  return card('Flaky',
    el('p', { class: 'soft small' }, 'These passed on a later attempt only; pass@k and pass^k count first attempts.'),
    table('Flaky samples', [{ title: 'Case' }, { title: 'Sample' }, { title: 'First attempt' }],
      first.map((one) => [caseLink(one.eval, one.case), one.words, one.first ? said(one.first) : ''])),
    more > 0 ? link({ view: 'cases', flaky: true }, {}, `and ${grouped(more)} more`) : null);
}

const EVALS_SHOWN = 50;

function evalsCard({ rows, more }) {
  const has = (name) => rows.some((row) => row[name] !== null && row[name] !== undefined);
  const columns = [
    { title: 'Outcome', cell: (row) => verdict(row.outcome) },
    { title: 'Eval', cell: (row) => [link({ view: 'cases', eval: row.id }, {}, said(row.id)), row.name && el('span', { class: 'below' }, said(row.name))] },
    { title: 'Cases', number: true, cell: (row) => [evalCounts(row.counts),
      row.counts.total > 1 && stackedBar({ label: `Cases of ${row.id}`, parts: outcomeParts(row.counts), plain: true })] },
    { title: 'Score', number: true, cell: (row) => row.score ?? 'n/a' },
    rows.some((row) => row.type !== rows[0].type) && { title: 'Type', kind: 'word', cell: (row) => row.type },
    has('category') && { title: 'Category', cell: (row) => row.category && said(row.category) },
    has('criticality') && { title: 'Criticality', kind: 'word', cell: (row) => row.criticality },
    has('source') && { title: 'Source', cell: (row) => row.source && el('code', { class: 'source' }, said(row.source)) },
  ].filter(Boolean);
  const line = (row) => el('tr', {}, columns.map((column, at) =>
    el(at === 1 ? 'th' : 'td', { scope: at === 1 && 'row', class: [column.number && 'number', column.kind].filter(Boolean).join(' ') || null }, column.cell(row) || null)));
  const body = el('tbody', {}, rows.slice(0, EVALS_SHOWN).map(line));
  const head = columns.map((column) => el('th', { scope: 'col', class: column.number && 'number' }, column.title));
  const rest = rows.length - EVALS_SHOWN;
  const button = rest > 0 && el('button', { type: 'button', class: 'more', onclick: () => {
    body.append(...rows.slice(EVALS_SHOWN).map(line));
    button.remove();
    announce(`${plural(rows.length, 'eval')} shown`);
  } }, `Show ${grouped(rest)} more`);
  return card('Evals',
    el('div', { class: 'scrolls evals', tabindex: '0', role: 'region', 'aria-label': 'Table of evals' }, el('table', {}, el('thead', {}, el('tr', {}, head)), body)),
    button ? el('p', {}, button) : null,
    more > 0 ? el('p', { class: 'soft small' }, `${grouped(more)} more evals are in the JSON report; Cases lists theirs.`) : null);
}

/** `2/3`, and what has no grade. */
function evalCounts({ passed, failed, total }) {
  const graded = passed + failed;
  const open = total - graded;
  return [`${grouped(passed)}/${grouped(graded)}`, open > 0 && el('span', { class: 'below' }, `${grouped(open)} ungraded`)];
}

const OUTCOMES = ['passed', 'failed', 'errored', 'skipped', 'pending'];

function outcomeParts(counts, href) {
  return OUTCOMES.map((outcome) => ({ tone: outcome, name: outcome, count: counts[outcome], href: href?.(outcome) }));
}

function modelsCard(models) {
  if (!models) return null;
  const names = [['answers', 'Answers'], ['retries', 'Retries'], ['waited', 'Waited'], ['latency', 'Latency'], ['tokens', 'Tokens'], ['cost', 'Cost'], ['spent', 'Spent']];
  const item = (row) => el('li', {},
    el('h3', {}, said(row.name), row.role && el('span', { class: 'soft' }, ` (${row.role})`)),
    facts(names.map(([key, title]) => [title, row[key] && said(row[key])])),
    row.remarks.map((remark) => el('p', { class: 'caution' }, said(remark))));
  return card('Models', el('ul', { class: 'stack' }, models.rows.map(item)),
    models.more > 0 ? el('p', { class: 'soft small' }, `${grouped(models.more)} more in the JSON report`) : null);
}

function judgesCard(judges) {
  if (!judges) return null;
  const told = ({ lines, remarks }) => [
    facts(lines.map(([label, words]) => [label, said(words)])),
    remarks.map((remark) => el('p', { class: 'caution' }, said(remark))),
  ];
  return card('Judges', told(judges.all), el('ul', { class: 'stack' }, judges.by_model.map((judge) => el('li', {}, el('h3', {}, said(judge.name)), told(judge.told)))),
    judges.more > 0 ? el('p', { class: 'soft small' }, `${grouped(judges.more)} more in the JSON report`) : null);
}

function disclosureCard(disclosure) {
  if (!disclosure) return null;
  const disclosed = (rows) => facts(rows.map(([label, words]) => [label, said(words)]));
  return card('Disclosure', disclosed(disclosure.run),
    el('ul', { class: 'stack' }, disclosure.datasets.map((one) => el('li', {}, el('h3', {}, said(one.eval)), disclosed(one.facts)))),
    disclosure.more > 0 ? el('p', { class: 'soft small' }, `${grouped(disclosure.more)} more in the JSON report`) : null);
}

function environmentCard(environment) {
  const { git, sandbox } = environment;
  const list = (texts) => texts.length > 0 && texts.map((text, at) => [at > 0 && ', ', said(text)]);
  const code = (text) => text && el('code', {}, said(text));
  const interpreters = Object.entries(environment.interpreters).map(([name, version]) => `${name} ${version}`);
  const cells = [
    ['Target', environment.target && [code(environment.target), environment.target_type && environment.target_type !== environment.target && [' (', said(environment.target_type), ')']]],
    ['Model', code(environment.model)],
    ['Model address', code(environment.model_address)],
    ['Commit', git && [el('code', { title: git.whole }, said(git.commit)), git.dirty && ' with uncommitted changes']],
    ['Suite', code(environment.suite_path)],
    ['Arguments', environment.arguments.length > 0 && code(environment.arguments.join(' '))],
    ['Filters', list(environment.filters)],
    ['Shard', environment.shard],
    ['Joined with', list(environment.joined)],
    ['Regraded from', environment.regrade_of && said(environment.regrade_of)],
    ['Baselines of', environment.against && said(environment.against)],
    ['Sandbox', sandbox && [said(sandbox.tier), sandbox.enforced ? ', enforced' : el('strong', { class: 'bad' }, ', NOT ENFORCED')]],
    ['Control groups', sandbox?.cgroup && said(sandbox.cgroup)],
    ['Landlock', sandbox?.landlock_abi && `version ${sandbox.landlock_abi}`],
    ['Interpreters', list(interpreters)],
    ['System', [said(environment.os), environment.cpus > 0 && `, ${plural(environment.cpus, 'CPU')}`]],
    ['eval-harness', report.harness_version && said(report.harness_version)],
  ].filter(([, value]) => value);
  return card('Environment', facts(cells),
    sandbox && sandbox.notes.length > 0 ? el('ul', { class: 'plain small' }, sandbox.notes.map((note) => el('li', {}, 'Sandbox: ', prose(note)))) : null);
}
