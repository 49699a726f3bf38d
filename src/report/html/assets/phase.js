// The page of a phase: what was decided, each step with what it found, suites with their metrics, what was changed.

const STEP_SIGNS = { passed: '✓', failed: '✗', incomplete: '!', pending: '?', 'not checked': '○', 'not reached': '–' };

function phaseBanner() {
  const { decision } = report;
  const node = el('section', { class: `card comparison banner tone-${decision.name}`, 'aria-label': 'Decision' },
    el('p', { class: 'headline' }, el('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[decision.name]), decision.label),
    el('h1', {}, said(report.subject)),
    report.description && el('p', {}, said(report.description)),
    report.unsandboxed && el('p', { class: 'phase-alarm' }, report.unsandboxed),
    report.interrupted && el('p', { class: 'phase-alarm' }, 'INTERRUPTED: the phase ended early; the remaining steps were not run'),
    report.reasons.length > 0 && el('ul', { class: 'reasons' }, report.reasons.map((reason) => el('li', {}, said(reason)))),
    report.notes.length > 0 && el('ul', { class: 'remarks' }, report.notes.map((note) =>
      el('li', {}, el('span', { class: 'sign tone-errored', 'aria-hidden': 'true' }, '!'), el('span', {}, prose(note))))),
    facts([['Phase', report.id && said(report.id)], ...report.facts.map(([name, fact]) => [name, fact && (name === 'Began' ? readableTime(fact) : said(fact))])]));
  return node;
}

/** Whether what a step wrote is to be read first. */
function isOpen(step) {
  return step.status !== 'passed' && step.status !== 'not reached';
}

function phaseStep(step, at) {
  const leads = step.eval ? link({ view: 'phase', step: at + 1 }, {}, said(step.name)) : said(step.name);
  const tests = step.tests;
  const told = !step.eval && step.status !== 'passed' && step.reason.trim() !== '';
  return el('li', { class: `phase-step tone-${step.tone}` },
    el('span', { class: 'sign', 'aria-hidden': 'true' }, STEP_SIGNS[step.status]),
    el('div', { class: 'what' },
      el('div', { class: 'line' },
        el('strong', {}, leads),
        step.kind !== step.name && el('span', { class: 'soft small' }, step.kind),
        el('span', { class: 'status' }, step.status),
        step.means && el('span', { class: 'soft small' }, step.means),
        !step.blocks && el('span', { class: 'small' }, 'does not block'),
        step.counted && el('span', { class: 'counted' }, step.counted),
        step.exit_code !== null && step.status !== 'passed' && el('span', { class: 'soft small' }, `exit code ${step.exit_code}`)),
      told && el('p', {}, prose(step.reason)),
      tests && tests.failures.length > 0 && el('ul', { class: 'tests' },
        tests.failures.map(([suite, name, message]) => el('li', {},
          el('div', {}, suite && [el('span', { class: 'soft' }, said(suite)), ' › '], name.trim() === '' ? '(no name)' : said(name)),
          message && el('div', { class: 'soft small message' }, said(message)))),
        tests.more && el('li', { class: 'soft' }, `and ${tests.more}`)),
      tests && tests.notes.length > 0 && el('ul', { class: 'remarks' }, tests.notes.map((note) =>
        el('li', {}, el('span', { class: 'sign tone-errored', 'aria-hidden': 'true' }, '!'), el('span', {}, prose(note))))),
      tests && (tests.source || tests.files.length > 0) && el('p', { class: 'soft small' }, 'Counted from ', tests.source,
        tests.files.length > 0 && [': ', tests.files.map((file, n) => [n > 0 && ', ', said(file)])]),
      step.tail && el('details', { class: 'tail', open: isOpen(step) && !(tests?.failures.length > 0) },
        el('summary', {}, 'End of its output'), el('pre', { tabindex: '0' }, said(step.tail)))),
    el('span', { class: 'duration soft' }, step.duration ?? ''));
}

function phaseSteps() {
  return card('Steps', el('ol', { class: 'phase-steps' }, report.steps.map(phaseStep)));
}

/** Shares against their thresholds, where there are any. */
function suitePlot(suite) {
  const rows = suite.metrics.filter((metric) => metric.drawn);
  return rows.length > 0 && intervalChart({
    label: 'Metrics and their thresholds',
    caption: 'Shares',
    note: rows.some((metric) => metric.drawn.limit !== null) ? 'dashed: the threshold' : null,
    min: 0,
    max: 1,
    ticks: [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: String(at) })),
    rows: rows.map(({ name, value, interval, threshold, drawn, tone }) => ({
      name,
      value: drawn.value,
      low: drawn.ci?.[0],
      high: drawn.ci?.[1],
      text: `${value} ${interval}`.trim(),
      tone: tone ?? 'info',
      marks: drawn.limit === null ? [] : [{ at: drawn.limit, title: threshold }],
    })),
  });
}

function suiteFigures(...parts) {
  const node = table(...parts);
  node.classList.add('suite');
  return node;
}

function suiteTable(suite, name) {
  const columns = ['Value', suite.level, 'Threshold'].map((title) => ({ title, number: true }));
  return suite.metrics.length > 0 && [
    suiteFigures(`Metrics of ${name}`, [{ title: 'Metric' }, ...columns, { title: 'Status' }], suite.metrics.map((metric) => [
      said(metric.name), metric.value, metric.interval, metric.threshold,
      metric.tone ? badge(metric.tone, metric.status) : el('span', { class: 'soft' }, metric.status),
    ])),
    suite.interval_notes.length > 0 && el('p', { class: 'soft small' }, suite.interval_notes.join(' ')),
    suite.metrics.filter((metric) => metric.undefined).map((metric) =>
      el('p', { class: 'small' }, said(metric.name), ' has no value: ', said(sentence(metric.undefined)))),
  ];
}

/** A difference as it was written: lines that begin with - were expected, those with + were there. */
function phaseDiff(diff) {
  const kind = { '-': 'minus', '+': 'plus', '@': 'gap' };
  return el('pre', { class: 'phase-diff', tabindex: '0' }, diff.split('\n').map((line) => el('span', { class: kind[line[0]] ?? 'same' }, said(line || ' '))));
}

function phaseTold({ case: name, cause, what }, alone) {
  return el('div', { class: 'told' },
    (name || !alone) && el('div', {}, said(name ?? ''), cause && el('span', { class: 'soft small' }, ` ${cause}`)),
    alone && !name && cause && el('span', { class: 'soft small' }, cause),
    what?.reason && el('p', {}, said(what.reason)),
    what?.diff && [el('p', { class: 'soft small' }, 'Expected (-) and actual (+)', what.more && `, and ${what.more}`), phaseDiff(what.diff)],
    el('div', { class: 'pair' }, [['Expected', what?.expected], ['Actual', what?.actual]].map(([label, text]) => text !== null && text !== undefined &&
      el('div', {}, el('p', { class: 'soft small' }, label), el('pre', { tabindex: '0' }, said(text))))),
    what?.left_out && el('p', { class: 'soft small' }, 'Expected and actual are in the JSON report.'));
}

function phaseEval(one, open) {
  const mark = el('span', { class: `sign tone-${one.outcome}`, 'aria-hidden': 'true' }, SIGNS[one.outcome]);
  const title = [mark, el('strong', {}, said(one.id)), one.name && el('span', {}, said(one.name)),
    el('span', { class: `outcome tone-${one.outcome}` }, one.outcome), one.cases && el('span', { class: 'soft small' }, one.cases)];
  // A case that waits has nothing to say but its name.
  const says = one.told.some((told) => told.case || told.cause || told.what);
  if (!says) return el('li', {}, el('div', { class: 'line' }, title));
  const alone = one.told.length === 1 && !one.more;
  return el('li', {}, el('details', { open }, el('summary', { class: 'line' }, title),
    one.told.map((told) => phaseTold(told, alone)), one.more && el('p', { class: 'soft small' }, `and ${one.more}`)));
}

/** Evals of a type: those that did not pass, then the others foldedUntilOpen when they are many. */
function phaseEvals(kind) {
  const open = kind.evals.filter((one) => one.outcome !== 'passed');
  const passed = kind.evals.filter((one) => one.outcome === 'passed');
  const list = (evals) => el('ul', { class: 'lines phase-evals' }, evals.map((one) => phaseEval(one, open.length <= 3)));
  return el('div', { class: 'some' }, el('h3', {}, kind.title),
    open.length > 0 && (open.length > 60 ? [list(open.slice(0, 60)), foldedUntilOpen(`${plural(open.length - 60, 'more eval')} that did not pass`, () => list(open.slice(60)))] : list(open)),
    passed.length > 0 && (passed.length > 12 ? foldedUntilOpen(`${plural(passed.length, 'eval')} passed`, () => list(passed)) : list(passed)));
}

/** What is drawn when somebody opens it. */
function foldedUntilOpen(title, content) {
  const node = el('details', {}, el('summary', {}, title));
  node.addEventListener('toggle', () => {
    if (node.childElementCount === 1) node.append(content());
  });
  return node;
}

function phaseSuite(step, at, alone) {
  const suite = step.eval;
  const node = card(alone ? 'Eval results' : `Eval results: ${step.name}`);
  node.id = `step-${at + 1}`;
  const more = [
    el('p', {}, badge(suite.decision.name, suite.decision.label), ' ', el('code', {}, said(suite.suite)), !step.blocks && ' It does not block.'),
    suite.notices.map((notice) => el('div', { class: notice.loud ? 'phase-alarm' : 'phase-aside' },
      el('p', {}, prose(notice.headline)), notice.notes.map((note) => el('p', { class: 'small' }, prose(note))), notice.command && command(notice.command))),
    suite.reasons.length > 0 && el('ul', { class: 'reasons' }, suite.reasons.map((reason) => el('li', {}, said(reason)))),
    suitePlot(suite),
    suiteTable(suite, step.name),
    suite.ungraded && el('p', { class: 'phase-aside' }, suite.ungraded),
    suite.kinds.map(phaseEvals),
    facts([['Run', said(suite.run_id)], ['Journal', said(suite.journal)]]),
  ];
  node.append(...more.flat(Infinity).filter(Boolean));
  return node;
}

function phaseChanges() {
  const changed = report.implementation;
  if (!changed) return card('Implementation', el('p', { class: 'soft' }, report.notes.length > 0 ? 'Changes are unknown.' : 'Changes are unknown: there is no commit to compare with.'));
  const rows = changed.files.map(([path, added, removed]) => [said(path),
    added === 'binary' ? added : el('span', { class: 'added' }, `+${added}`), removed === 'binary' ? '' : el('span', { class: 'removed' }, `-${removed}`)]);
  return card('Implementation',
    el('p', {}, el('strong', {}, changed.files_modified), ' modified, ', el('span', { class: 'added' }, `+${changed.added}`), ' and ',
      el('span', { class: 'removed' }, `-${changed.removed}`), ' lines.'),
    el('p', { class: 'soft small' }, 'Counted since ', el('code', {}, said(changed.base)), changed.commit && [' (commit ', el('code', {}, said(changed.commit)), ')'],
      ', with what is not committed yet.'),
    rows.length > 0 && foldedUntilOpen(plural(rows.length, 'file'), () => el('div', {},
      table('Files that differ', [{ title: 'File' }, { title: 'Added', number: true }, { title: 'Removed', number: true }], rows),
      changed.omitted && el('p', { class: 'soft small' }, `and ${changed.omitted}`))));
}

function phasePending() {
  const waiting = report.pending;
  if (!waiting) return null;
  const list = siftedList({
    label: 'pending cases', noun: 'case', rows: waiting.cases, words: (row) => row.join(' '),
    draw: ([evalId, caseId, name]) => el('li', {}, evalId !== caseId && [said(evalId), ' › '], said(caseId),
      ![evalId, caseId].includes(name) && el('span', { class: 'soft' }, ': ', said(name))),
  });
  return card('Pending human grades', el('p', {}, waiting.words), waiting.cases.length > 0 && list.node);
}

views.set('phase', {
  label: 'Phase',
  kinds: ['phase'],
  draw(main, params) {
    const suites = report.steps.map((step, at) => [step, at]).filter(([step]) => step.eval);
    const next = report.recommendations;
    main.append(...[
      phaseBanner(),
      next.length > 0 && card('Recommendations', el('ol', { class: 'reasons' }, next.map((advice) => el('li', {}, prose(advice))))),
      phaseSteps(),
      ...suites.map(([step, at]) => phaseSuite(step, at, suites.length === 1)),
      phasePending(),
      phaseChanges(),
    ].filter(Boolean));
    if (params.step) requestAnimationFrame(() => document.getElementById(`step-${params.step}`)?.scrollIntoView({ block: 'start' }));
  },
});
