// The page of a case: what went in, what came out, and what every grader said of it.

views.set('case', {
  kinds: ['run'],
  draw(main, params) {
    const [evalId, caseId = evalId] = params.case ?? [];
    const row = casesData().rowOf(evalId, caseId);
    row === undefined ? noCase(main, evalId, caseId) : drawCase(main, row);
  },
});

function noCase(main, evalId, caseId) {
  main.append(
    el('h1', {}, 'No such case here'),
    el('p', {}, said(evalId), ' › ', said(caseId), ' is not in this report. A report of a large run contains only some of the cases that passed; the journal has all of them.'),
    el('p', {}, link({ view: 'cases' }, {}, 'All cases of this report')));
}

function drawCase(main, row) {
  const { columns, evalOf, categoryOf, tagsOf } = casesData();
  const details = blockItem('details', row);
  const ofEval = evalOf(row);
  const id = columns.id[row];
  const outcome = columns.outcome[row];
  main.append(el('article', { class: 'case-page', 'data-row': row },
    caseSteps(row),
    el('div', { class: 'case-title' },
      badge(outcome, outcome),
      el('h1', {}, said(columns.name[row] || (id === ofEval.id ? ofEval.name : id) || id)),
      columns.flaky[row] === 1 && badge('errored', 'flaky')),
    columns.reason[row] && el('p', { class: 'case-reason' },
      casesData().causeOf(row) && [el('code', {}, casesData().causeOf(row)), ' '], said(columns.reason[row])),
    facts([
      ['Eval', link({ view: 'cases', eval: ofEval.id }, {}, said(ofEval.id))],
      ['Case', id !== ofEval.id && said(id)],
      ['Score', columns.score_text[row]],
      ['Samples passed', samplesPassed(row)],
      ['Type', ofEval.type],
      ['Category', categoryOf(row) !== null && link({ view: 'cases', category: categoryOf(row) }, {}, said(categoryOf(row)))],
      ['Tags', tagsOf(row).length > 0 && tagsOf(row).map((tag, at) => [at > 0 && ', ', link({ view: 'cases', tag }, {}, said(tag))])],
      ...ofEval.facts.map(([name, words]) => [name, said(words)]),
    ].filter(([, value]) => value !== false).map(([name, value]) => [name, Array.isArray(value) ? el('span', {}, value.flat()) : value])),
    caseInput(details?.input),
    details
      ? caseSamples(details)
      : el('p', { class: 'note' }, 'This report has no room for the details of this case; the journal has them.'),
    caseCommands(row, details)));
}

function samplesPassed(row) {
  const { passed, graded } = casesData().columns;
  if (graded[row] === null) return 'not kept for reports';
  return graded[row] > 0 ? `${passed[row]} of ${graded[row]} graded` : 'none graded';
}

/** Where one is, and the way to the cases before and after it among those that were listed. */
function caseSteps(row) {
  const order = casesView.found?.includes(row) ? casesView.found : casesData().rows;
  const at = order.indexOf(row);
  const step = (to, text, key) => (order[to] === undefined
    ? el('span', { class: 'step soft', 'aria-disabled': 'true' }, text)
    : link({ case: caseId(order[to]) }, { class: 'step', 'data-step': key, title: `Key ${key}` }, text));
  const filtered = order.length < casesData().n;
  return el('div', { class: 'case-steps' },
    el('nav', { 'aria-label': 'Location of this case', class: 'crumbs' },
      el('a', { href: casesView.fragment ?? '#view=cases' }, 'Cases'), el('span', { 'aria-hidden': 'true' }, '›'),
      link({ view: 'cases', eval: casesData().evalOf(row).id }, {}, said(casesData().evalOf(row).name || casesData().evalOf(row).id))),
    el('nav', { 'aria-label': 'Other cases', class: 'steps' },
      step(at - 1, '← Previous', 'k'),
      el('span', { class: 'soft small' }, `${grouped(at + 1)} of ${grouped(order.length)}${filtered ? ' listed' : ''}`),
      step(at + 1, 'Next →', 'j'),
      copyButton(() => location.href, 'Copy link to this case', 'Copy link')));
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, select, textarea')) return;
  const keys = { j: 'j', k: 'k' };
  if (document.getElementById('main')?.dataset.view === 'case' && event.key in keys) {
    const to = document.querySelector(`.steps [data-step="${keys[event.key]}"]`);
    if (to) location.hash = to.getAttribute('href');
  }
});

/** Characters of a context beyond which it is folded. */
const LONG_CONTEXT = 300;

const INPUT_KINDS = { prompt: 'prompt', file: 'file', api_call: 'request', messages: 'messages', data: 'data' };

function caseInput(input) {
  if (!input) return null;
  return el('section', { class: 'card case-input', 'aria-labelledby': 'case-input' },
    el('h2', { id: 'case-input' }, 'Input ', el('span', { class: 'soft kind' }, INPUT_KINDS[input.type] ?? input.type)),
    inputParts(input, 'h3'));
}

/** What was given, part by part; `level` is the element of their titles. */
function inputParts(input, level, options) {
  const one = input.parts.length === 1 && input.parts[0][0] === '';
  return [
    input.path && el('p', { class: 'small' }, el('code', {}, said(input.path))),
    one ? textView(input.parts[0][1], 'Input', options) : input.parts.map(([label, shown]) => el('div', { class: 'part' },
      el(level, { class: 'role' }, said(label)), textView(shown, label, options))),
    // A benchmark's holds the prompt once more.
    input.context && (input.context.text.length > LONG_CONTEXT
      ? foldedText('Context', input.context)
      : el('div', { class: 'part' }, el(level, { class: 'role' }, 'Context'), textView(input.context, 'Context', options))),
    input.truncated && el('p', { class: 'soft small' }, 'The input was too large to be stored in full; this is its beginning.'),
  ];
}

function caseSamples(details) {
  const { samples, more = 0 } = details;
  if (details.never_ran) return el('p', { class: 'note' }, 'No sample of this case ran.');
  if (samples.length === 0) return el('p', { class: 'note' }, 'No samples of this case were kept for reports; the journal has them.');
  const urgency = ({ outcome }) => OUTCOMES_BY_URGENCY.indexOf(outcome);
  const first = samples.reduce((a, b) => (urgency(b) < urgency(a) ? b : a));
  // How many are not listed is known at least.
  const total = Math.max(samples.length + more, samples.at(-1).index + 1);
  const list = samples.map((sample, at) => caseSample(sample, at, total, sample === first));
  return [list, more > 0 && el('p', { class: 'note' }, `${plural(more, 'more sample')} of this case: the journal has all of them.`)];
}

/** One of `total` samples; `first` is the one that people want to see. */
function caseSample(sample, at, total, first) {
  const title = `Sample ${grouped(sample.index + 1)} of ${grouped(total)}`;
  const id = `sample-${sample.index}-${at}`;
  const head = [badge(sample.outcome, sample.outcome), el('h2', { id }, total > 1 ? title : 'Sample'),
    sample.score !== '' && el('span', { class: 'soft number' }, `score ${sample.score}`),
    sample.flaky && el('span', { class: 'flaky' }, 'flaky'),
    sample.cause && el('code', { class: 'soft' }, sample.cause)];
  const body = el('div', { class: 'sample-body' });
  const fillBody = () => { if (!body.firstChild) body.append(...[sampleParts(sample)].flat(Infinity).filter(Boolean)); };
  if (total === 1 || first) fillBody();
  if (total === 1) return el('section', { class: 'card sample', 'aria-labelledby': id }, el('div', { class: 'sample-head' }, head), body);
  const folded = el('details', { class: 'card sample', open: first }, el('summary', { class: 'sample-head' }, head), body);
  folded.addEventListener('toggle', fillBody);
  return folded;
}

function sampleParts(sample) {
  return [
    sample.reason && el('div', { class: 'reason-box' }, textView(sample.reason, 'Reason', { plain: true })),
    sample.output && part('Output', textView(sample.output, 'Output')),
    sample.output_truncated && el('p', { class: 'soft small' }, 'The output was too large to be stored in full; this is its beginning.'),
    !sample.output && el('p', { class: 'soft' }, 'No output.'),
    sample.changes && part('Changes in the workspace', patchView(...sample.changes)),
    sample.trajectory && part('Trajectory', trajectoryView(sample.trajectory)),
    sample.thoughts && part('Reasoning, not graded', textView(sample.thoughts, 'Reasoning', { plain: true })),
    sample.extracted && part('Extracted and graded', textView(sample.extracted, 'Extracted')),
    (sample.grades ?? []).length > 0 && part('Grades', sample.grades.map((grade) => gradeView(grade, sample))),
    sample.metrics && part('Measured', facts(sample.metrics.map(([name, text]) => [said(name), said(text)]))),
    sample.earlier && part('Earlier attempts', el('ol', { class: 'earlier' }, sample.earlier.map(([outcome, cause, reason]) =>
      el('li', {}, badge(outcome, outcome), ' ', cause && el('code', {}, cause), ' ', textView(reason, 'Reason', { plain: true }))))),
    part('Details', facts(sample.facts.map(([name, text]) => [name, said(text)]))),
  ];
}

/** What an agent said and did, step by step, once it is opened. */
function trajectoryView(told) {
  const body = el('div', {});
  const call = (one) => el('div', { class: 'call' },
    el('p', {}, one.tool !== '' && el('code', {}, said(one.tool)), one.failed && el('span', { class: 'failed' }, ' failed')),
    one.arguments && textView(one.arguments, 'Arguments', { lines: 8 }),
    one.result && textView(one.result, 'Result', { lines: 8 }));
  const step = (one) => el('li', { class: `turn ${one.source}` },
    el('p', { class: 'turn-head' }, el('span', { class: 'number' }, said(one.title)), ' ', el('b', {}, said(one.source)), ' ',
      one.facts && el('span', { class: 'soft small' }, one.facts)),
    one.text && textView(one.text, 'Message', { plain: true }),
    one.reasoning && foldedText('Reasoning', one.reasoning),
    (one.calls ?? []).map(call));
  const fillBody = () => {
    if (!body.firstChild) body.append(el('ol', { class: 'timeline' }, told.steps.map(step)));
  };
  const folded = el('details', { class: 'folded' }, el('summary', {}, said(`${told.agent}: ${told.summary}`)), body);
  folded.addEventListener('toggle', fillBody);
  return [
    (told.incomplete ?? []).map((reason) => el('p', { class: 'small' }, said(`Incomplete: ${reason}`))),
    told.denied && el('p', { class: 'small' }, 'The proxy of the agent refused ', told.denied.flatMap((what, at) =>
      [at > 0 && ', ', el('code', {}, said(what))]), '.'),
    folded,
    told.omitted && el('p', { class: 'soft small' }, told.omitted),
  ];
}

function part(title, ...children) {
  return el('div', { class: 'part' }, el('h3', {}, title), children);
}

function caseCommands(row, details) {
  const { columns, evalOf } = casesData();
  const line = (words) => columns.run && words && `${columns.run} ${words}`;
  const commands = [
    ['This case', line(details?.rerun)],
    ['Its eval', line(evalOf(row).rerun)],
    ['All cases that did not pass', columns.run_failed],
  ].filter(([, text]) => text);
  return commands.length > 0 && el('section', { class: 'card', 'aria-labelledby': 'case-commands' },
    el('h2', { id: 'case-commands' }, 'Run again'),
    commands.map(([title, text]) => el('div', { class: 'part' }, el('h3', {}, title), command(text))));
}
