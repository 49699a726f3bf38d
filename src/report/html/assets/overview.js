// The first view of a run: its decision and why, what is not known, what did not pass, and what it amounts to.

views.set('overview', {
  label: 'Overview',
  kinds: ['run'],
  draw(main) {
    main.append(...[
      masthead(),
      loudNotices(),
      runGateCard(),
      el('div', { class: 'cards' }, outcomesCard(), unknownCard(report.unknown)),
      failuresCard(report.failures),
      nextCard(),
      report.comparison && typeof comparisonCard === 'function' ? comparisonCard(report.comparison) : null,
      runMetricsCard(report.metrics, report.curve),
      groupsCard(report.groups),
      distributionsCard(report.distributions),
      pairOf(causesCard(report.causes), historyCard(report.history)),
      evalsCard(report.evals),
      flakyCard(report.flaky),
      trustCard(report.trust),
      usageCard(report.distributions.usage),
      modelsCard(report.models),
      judgesCard(report.judges),
      environmentCard(report.environment),
    ].filter(Boolean));
  },
});

/** Cards side by side; one alone takes all the room. */
function pairOf(...some) {
  const there = some.filter(Boolean);
  return there.length > 0 ? el('div', { class: 'cards' }, there) : null;
}

function masthead() {
  const { target, model, git } = report.environment;
  const code = (text) => el('code', {}, said(text));
  return el('div', { class: 'masthead' },
    el('h1', {}, said(report.suite.name), report.suite.version && el('span', { class: 'version' }, ' ', said(report.suite.version))),
    facts([
      ['Run', code(report.run_id)],
      ['Began', readableTime(report.timestamp)],
      ['Took', report.duration],
      ['Target', target && code(target)],
      ['Model', model && code(model)],
      ['Commit', git && [code(git.commit), git.dirty && ' +']],
    ]));
}

/** What must not be missed stands above everything else. */
function loudNotices() {
  const loud = report.notices.filter((notice) => notice.loud);
  if (loud.length === 0) return null;
  return el('div', { class: 'alarms' }, loud.map((notice) => el('section', { class: 'alarm', role: 'note' },
    el('p', { class: 'headline' }, el('span', { 'aria-hidden': 'true' }, '! '), prose(notice.headline)),
    notice.notes.length > 0 && el('ul', {}, notice.notes.map((note) => el('li', {}, prose(note)))),
    notice.command && command(notice.command))));
}

function runGateCard() {
  const { decision, gate, notices } = report;
  const quiet = notices.filter((notice) => !notice.loud);
  const reasons = gate.reasons.length > 0 && el('ul', { class: 'reasons' }, gate.reasons.map((reason) => el('li', {}, said(reason))));
  const thresholds = gate.thresholds.length > 0
    ? table('Thresholds',
      [{ title: 'Threshold' }, { title: 'Value', number: true }, { title: gate.interval_label, number: true }, { title: 'Needs', number: true }, { title: 'Status' }],
      gate.thresholds.map((row) => [said(row.metric), row.value, row.interval, row.needs, verdict(row.status, row.label)]))
    : el('p', { class: 'soft' }, 'No thresholds are set: the gate passes when every eval passes.');
  return el('section', { class: `card gate tone-${decision.name}`, 'aria-labelledby': 'gate' },
    el('div', { class: 'decision' },
      el('h2', { id: 'gate' }, el('span', { class: 'away' }, 'Gate: '), el('span', { 'aria-hidden': 'true' }, `${SIGNS[decision.name] ?? ''} `), decision.label),
      el('p', {}, gate.meaning, el('span', { class: 'soft' }, ` Exit code ${decision.exit_code}.`))),
    reasons || null, thresholds,
    quiet.length > 0 && el('ul', { class: 'quiet' }, quiet.map((notice) => el('li', {}, prose(notice.headline), notice.notes.map((note) => [' ', prose(note)]), notice.command && command(notice.command)))));
}

function outcomesCard() {
  const { evals, cases, samples, remarks } = report.counts;
  const all = [['Evals', evals], ['Cases', cases], ['Samples', samples]];
  const shown = OUTCOMES.filter((outcome) => outcome === 'passed' || outcome === 'failed' || all.some(([, counts]) => counts[outcome] > 0));
  const cell = (name, counts, outcome) => {
    const text = grouped(counts[outcome]);
    return name === 'Cases' && counts[outcome] > 0 ? link({ view: 'cases', outcome }, {}, text) : counts[outcome] > 0 ? text : el('span', { class: 'soft' }, '0');
  };
  return card('Outcomes',
    stackedBar({ label: 'Cases by outcome', caption: plural(cases.total, 'case'), parts: outcomeParts(cases, (outcome) => address({ view: 'cases', outcome })) }),
    table('Counts by outcome',
      [{ title: el('span', { class: 'away' }, 'What') }, { title: 'Total', number: true }, ...shown.map((outcome) => ({ title: outcome[0].toUpperCase() + outcome.slice(1), number: true })), { title: 'Pass rate', number: true }],
      all.map(([name, counts]) => [name, grouped(counts.total), ...shown.map((outcome) => cell(name, counts, outcome)), counts.rate])),
    el('p', { class: 'soft small' }, remarks.join(' ')));
}

/** What has no grade is no failure and no pass: how much, why, and what it leaves open. */
function unknownCard(unknown) {
  if (!unknown) return null;
  const group = ({ outcome, samples, cases, causes }) => el('li', {},
    el('p', {}, verdict(outcome), ' ', link({ view: 'cases', outcome }, {}, plural(cases, 'case')), `, ${plural(samples, 'sample')}`),
    causes.length > 0 && el('ul', { class: 'plain small' }, causes.map(({ cause, samples: n }) =>
      el('li', {}, link({ view: 'cases', cause }, {}, el('code', {}, cause)), ` ${grouped(n)}`))));
  const ranges = unknown.ranges.slice(0, 5);
  return card('What is not known',
    el('p', { class: 'soft small' }, 'These have no grade. They count neither as passed nor as failed.'),
    el('ul', { class: 'stack' }, unknown.groups.map(group)),
    ranges.length > 0 ? table('What the samples without a grade leave open',
      [{ title: 'If they had failed, or passed' }, { title: 'Now', number: true }, { title: '[worst, best]', number: true }],
      ranges.map((row) => [said(row.metric), row.value, row.range])) : null,
    unknown.ranges.length > ranges.length ? el('p', { class: 'soft small' }, 'The other metrics are below, with their ranges.') : null);
}

/** What to do next: advice, and commands to copy. */
function nextCard() {
  const { resume, run_failed_again: again } = report.commands;
  const advice = report.recommendations;
  if (advice.length === 0 && !resume && !again) return null;
  return card('Next',
    advice.length > 0 && el('ol', { class: 'advice' }, advice.map((text) => el('li', {}, prose(text)))),
    resume && el('div', { class: 'labelled' }, el('span', { class: 'soft small' }, 'Resume this run'), command(resume)),
    again && el('div', { class: 'labelled' }, el('span', { class: 'soft small' }, 'Run again: cases that did not pass'), command(again)));
}
