// The first view of a run: its decision and why, what is not known, what did not pass, and what it amounts to.

views.set('overview', {
  label: 'Overview',
  kinds: ['run'],
  draw(main) {
    const { evals } = report.counts;
    const { tolerated } = report.failures;
    main.append(...[
      masthead(),
      loudNotices(),
      el('div', { class: 'first-cards' }, runGateCard(), outcomesCard()),
      unknownCard(report.unknown),
      besides(failuresCard(report.failures), recommendationsCard()),
      report.comparison && comparisonCard(report.comparison),
      // What answers further questions is folded, so that the answer to the first one is on one screen.
      foldedCard(toleratedCard(report.failures), plural(tolerated.total, 'case')),
      foldedCard(evalsCard(report.evals), `${grouped(evals.passed)} of ${grouped(evals.total)} passed`),
      foldedCard(runMetricsCard(report.metrics, report.curve), `${plural(report.metrics.rows.length, 'figure')} with intervals`),
      foldedCard(groupsCard(report.groups), report.groups.map(({ by }) => by).join(', ')),
      foldedCard(distributionsCard(report.distributions), [report.distributions.scores && 'scores', report.distributions.latency && 'latency'].filter(Boolean).join(', ')),
      foldedCard(causesCard(report.causes), report.causes.slice(0, 3).map(({ cause, samples }) => `${cause} ${grouped(samples)}`).join(', ')),
      foldedCard(historyCard(report.history), report.history && `${plural(report.history.length - 1, 'earlier run')}`),
      foldedCard(flakyCard(report.flaky), plural(report.flaky.first.length + report.flaky.more, 'sample')),
      foldedCard(trustCard(report.trust), plural(report.trust.reduce((sum, { samples }) => sum + samples, 0), 'sample')),
      foldedCard(usageCard(report.distributions.usage), 'by eval'),
      foldedCard(modelsCard(report.models), report.models && report.models.rows.map(({ name }) => name).slice(0, 3).join(', ')),
      foldedCard(judgesCard(report.judges), report.judges && report.judges.by_model.map(({ name }) => name).slice(0, 3).join(', ')),
      foldedCard(disclosureCard(report.disclosure), report.disclosure && plural(report.disclosure.datasets.length + report.disclosure.more, 'dataset')),
      foldedCard(environmentCard(report.environment), report.environment.os),
    ].filter(Boolean));
  },
});

/** Cards beside each other; one alone takes all the room. */
function besides(...some) {
  const there = some.filter(Boolean);
  return there.length > 1 ? el('div', { class: 'beside-cards' }, there) : there[0] ?? null;
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
      ['Commit', git && [code(git.commit), git.dirty && ' with uncommitted changes']],
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
      [{ title: 'Threshold' }, { title: 'Value', number: true }, { title: gate.interval_label, number: true, kind: 'wide-only' }, { title: 'Needs', number: true }, { title: 'Status' }],
      gate.thresholds.map((row) => [said(row.metric), [row.value, row.interval && el('span', { class: 'narrow-only soft small' }, row.interval)],
        row.interval, row.needs, verdict(row.status, row.label)]))
    : el('p', { class: 'soft' }, 'No thresholds are set: the gate passes when every eval passes.');
  return el('section', { class: `card gate tone-${decision.name}`, 'aria-labelledby': 'gate' },
    el('div', { class: 'decision' },
      el('h2', { id: 'gate' }, el('span', { class: 'away' }, 'Gate: '), el('span', { 'aria-hidden': 'true' }, `${SIGNS[decision.name] ?? ''} `), decision.label),
      el('p', {}, gate.meaning, el('span', { class: 'soft' }, ` Exit code ${decision.exit_code}.`))),
    reasons || null, thresholds,
    quiet.length > 0 && el('ul', { class: 'quiet' }, quiet.map((notice) => el('li', {}, prose(notice.headline), notice.notes.map((note) => [' ', prose(note)]), notice.command && command(notice.command)))));
}

function outcomesCard() {
  const { evals, cases, samples, remarks, single_eval: single } = report.counts;
  const all = [!single && ['Evals', evals], ['Cases', cases], ['Samples', samples]].filter(Boolean);
  const shown = OUTCOMES.filter((outcome) => outcome === 'passed' || outcome === 'failed' || all.some(([, counts]) => counts[outcome] > 0));
  const cell = (name, counts, outcome) => {
    const text = grouped(counts[outcome]);
    return name === 'Cases' && counts[outcome] > 0 ? link({ view: 'cases', outcome }, {}, text) : counts[outcome] > 0 ? text : el('span', { class: 'soft' }, '0');
  };
  return card('Outcomes',
    stackedBar({ label: 'Cases by outcome', caption: el('span', { class: 'away' }, plural(cases.total, 'case')), parts: outcomeParts(cases, (outcome) => address({ view: 'cases', outcome })) }),
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

/** What to do next, and commands to copy. */
function recommendationsCard() {
  const { resume, run_failed_again: again } = report.commands;
  const all = report.recommendations;
  if (all.length === 0 && !resume && !again) return null;
  return card(all.length > 0 ? 'Recommendations' : 'Run again',
    all.length > 0 && el('ol', { class: 'recommendations' }, all.map((text) => el('li', {}, prose(text)))),
    resume && labelledCommand('Resume this run', resume),
    again && labelledCommand('Run the cases that did not pass again', again));
}
