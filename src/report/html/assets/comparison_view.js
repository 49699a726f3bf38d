// The views of a comparison: of one candidate whole, of several beside each other, and of the one that a run is compared with.

/** The title of a column of names, for those who hear it. */
function unseenTitle(text) {
  return el('span', { class: 'away' }, text);
}

/** Facts of the reference and of candidates, a column each; what differs from the reference stands out. `pages` lead to their runs. */
function sidesTable(reference, others, pages = []) {
  const sides = [reference, ...others];
  const names = [...new Set(sides.flatMap((side) => side.facts.map(([name]) => name)))];
  const fact = (side, name) => side.facts.find(([known]) => known === name)?.[1] ?? '';
  const columns = [{ title: unseenTitle('Fact') }, { title: 'Reference' }, ...others.map((_, at) => ({ title: others.length > 1 ? `Candidate ${at + 1}` : 'Candidate' }))];
  const rows = [
    ['Name', ...sides.map((side) => el('strong', {}, said(side.label)))],
    ...names.map((name) => [name, ...sides.map((side, at) => {
      const text = fact(side, name);
      const own = side !== reference && text !== fact(reference, name) && !['Run', 'Began'].includes(name);
      const words = name === 'Run' && pages[at] ? el('a', { page: pages[at] }, said(text)) : said(text);
      return el('span', { class: own && 'own' }, text ? (name === 'Began' ? readableTime(text) : words) : '–');
    })]),
  ];
  if (sides.some((side) => side.extent.length > 0)) {
    rows.push(['Extent', ...sides.map((side) => el('ul', { class: 'plain' }, side.extent.map((words) => el('li', {}, said(words)))))]);
  }
  const node = table('Facts of both sides', columns, rows);
  node.classList.add('sides');
  return node;
}

function comparisonGate() {
  const { decision, fail_on, reasons } = report;
  return card('Gate',
    el('p', {}, badge(decision.name, decision.label), ` Exit code ${decision.exit_code}. `, el('code', {}, `--fail-on ${fail_on.name}`), `: ${fail_on.means}.`),
    reasons.length > 0 && el('ul', { class: 'reasons' }, reasons.map((reason) => el('li', {}, said(reason)))));
}

function comparisonMetrics(candidate) {
  if (candidate.metrics.length === 0) return null;
  return card('Metrics',
    candidate.plots.map((plot) => differencePlot(plot)),
    differenceTable('Metrics on both sides', 'Metric', candidate.metrics, candidate.level),
    differenceRemarks(candidate.metrics),
    candidate.legend && el('p', { class: 'soft small' }, candidate.legend));
}

/** A card for each grouping in which a group differs; the others share one. */
function comparisonGroups(candidate) {
  const alike = candidate.groups.filter((kind) => kind.telling === 0);
  const rows = (kind) => differenceTable(`${kind.metric} by ${kind.by}`, capital(`${kind.by} `).trim(), kind.rows.map((group) => group.line), candidate.level, kind.rows);
  const rest = alike.length > 0 && card('Groups without a difference',
    el('p', { class: 'soft' }, alike[0].metric, ' of these groups differs by no more than chance.'),
    alike.map((kind) => folded(`By ${kind.by}: ${plural(kind.rows.length, 'group')}${kind.decides ? ', on which the verdict also depends' : ''}`, () => rows(kind))));
  return [...candidate.groups.filter((kind) => kind.telling > 0).map((kind) => groupingCard(candidate, kind)), rest];
}

function groupingCard(candidate, kind) {
  const told = kind.rows.slice(0, kind.telling);
  const others = kind.rows.slice(kind.telling);
  const rows = (groups) => differenceTable(`${kind.metric} by ${kind.by}`, capital(`${kind.by} `).trim(), groups.map((group) => group.line), candidate.level, groups);
  const names = new Set(told.map((group) => group.line.name));
  const plot = kind.plot && { ...kind.plot, rows: kind.plot.rows.filter((row) => names.has(row.name)) };
  return card(`By ${kind.by}`,
    el('p', { class: 'soft' }, kind.metric, kind.decides ? ' * of each group: the verdict also depends on them.' : ' of each group.'),
    plot && plot.rows.length > 0 && differencePlot(plot, { most: 12, label: `By ${kind.by}` }),
    told.length > 12 ? el('details', {}, el('summary', {}, `All ${grouped(told.length)} in numbers`), rows(told)) : rows(told),
    others.length > 0 && el('details', {},
      el('summary', {}, `${plural(others.length, 'more group')} ${kind.decides ? 'without a difference' : 'that may differ by chance'}`),
      rows(others)));
}

function comparisonCases(candidate, params, at, both) {
  const { cases, opened } = candidate;
  const places = new Map(cases.flips.map((flip, place) => [flip, place]));
  const labels = [candidate.reference.label, candidate.label];
  const here = (state) => ({ ...params, kind: state.kind, q: state.q });
  const list = siftedList({
    label: 'cases',
    noun: 'case',
    rows: cases.flips,
    words: (flip) => `${flip[1]} / ${flip[2]}${flip[4] ? ' critical' : ''}`,
    kinds: cases.kinds.map((kind) => ({ name: kind.name, title: capital(`${kind.name} `).trim(), count: kind.listed })),
    kindOf: (flip) => flip[0],
    kind: params.kind,
    query: params.q ?? '',
    draw: (flip) => flipLine(flip, cases.kinds[flip[0]].name, openedCase(opened, places.get(flip), labels, [flip[1], flip[2]])),
    changed: (state) => go(here(state), { replace: true }),
  });
  const cut = cases.kinds.filter((kind) => kind.listed < kind.count);
  const node = card('Cases',
    el('p', {}, cases.sentences.map((words) => [prose(words), ' '])),
    cases.flips.length > 0 && list.node,
    cases.flips.length > 0 && rowsCut(opened),
    cut.length > 0 && el('p', { class: 'soft small' },
      `Listed: ${cut.map((kind) => `${grouped(kind.listed)} of ${grouped(kind.count)} ${kind.name}`).join(', ')}${at ? `; ${at}` : ''}.`),
    cases.flips.length > 0 && both && labelledCommand('Compare the outputs of both runs', both));
  if (params.kind || params.q) requestAnimationFrame(() => node.scrollIntoView({ block: 'start' }));
  return node;
}

function comparisonMethod(candidate, method) {
  return card('How it was computed',
    candidate?.could_have_found && el('p', {}, `The smallest true drop that would have been found: ${candidate.could_have_found}.`),
    el('p', { class: 'soft small' }, prose(method)));
}

/** A verdict in large. */
function verdictBanner(candidate, suite, ...more) {
  return el('section', { class: `card comparison banner ${verdictTone(candidate)}`, 'aria-label': 'Verdict' },
    el('p', { class: 'soft' }, suite && [said(suite), ': '], said(candidate.label), ' against ', said(candidate.reference.label)),
    verdictOf(candidate, 'h1'), more);
}

function drawCandidate(main, candidate, params, { suite, gate, method, cut, bearing, several, both }) {
  main.append(...[
    several,
    verdictBanner(candidate, suite, flipTiles(candidate.cases, (kind) => address({ ...params, kind, q: '' })), bearing && el('p', { class: 'small' }, said(bearing))),
    gate,
    comparisonCases(candidate, params, cut, both),
    comparisonMetrics(candidate),
    ...comparisonGroups(candidate),
    card('Both sides', sidesTable(candidate.reference, [candidate.candidate], candidate.opened?.pages)),
    comparisonMethod(candidate, method),
  ].filter(Boolean));
}

/** Several candidates, a column each. */
function columnsTable() {
  const { candidates, overview } = report;
  const cell = (line) => {
    if (!line || line.undefined) return el('span', { class: 'soft' }, 'n/a');
    return el('span', { class: 'cell' },
      el('span', {}, `${line.reference} → ${line.candidate}`), markedDifference(line),
      el('span', { class: 'soft' }, [line.interval, line.p && `p ${line.p}`].filter(Boolean).join(', ')));
  };
  const count = (name) => candidates.map((one) => one.cases.kinds.find((kind) => kind.name === name)?.count ?? 0);
  const counts = (name, kind) => {
    const all = count(kind ?? name);
    return all.some((n) => n > 0) && [capital(`${name} `).trim(), ...all.map((n, at) => (n > 0 ? link({ view: 'candidate', n: at + 1, kind: kind ?? name }, {}, grouped(n)) : '0'))];
  };
  const drops = candidates.map((one) => one.could_have_found ?? '');
  const rows = [
    ['Verdict', ...candidates.map((one) => badge(VERDICT_TONES[one.headline.name], `${VERDICT_SIGNS[one.headline.name]} ${one.headline.words}`))],
    ...overview.rows.map((row) => [decidingName(row), ...row.cells.map(cell)]),
    ['Cases compared', ...candidates.map((one) => grouped(one.cases.compared))],
    ...['broken', 'fixed', 'still failing', 'without a grade', 'changed', 'new', 'gone'].map((name) => counts(name)).filter(Boolean),
    drops.some(Boolean) && ['Could have found', ...drops],
  ].filter(Boolean);
  const columns = [{ title: unseenTitle('Figure') }, ...candidates.map((one, at) => ({ title: link({ view: 'candidate', n: at + 1 }, {}, said(one.label)) }))];
  const node = table('Candidates side by side', columns, rows);
  node.classList.add('columns');
  return node;
}

function drawSeveral(main) {
  const { candidates, overview, reference } = report;
  const legend = candidates[0]?.legend;
  main.append(
    el('div', { class: 'lead' }, el('p', { class: 'soft' }, said(report.subject)),
      el('h1', {}, `${plural(candidates.length, 'candidate')} against `, said(reference.label))),
    comparisonGate(),
    card('Candidates', columnsTable(), legend && el('p', { class: 'soft small' }, legend)),
    overview.plots.length > 0 ? card('Differences', overview.plots.map((plot) => differencePlot(plot))) : '',
    el('div', { class: 'cards' }, candidates.map((candidate, at) => {
      const node = el('section', { class: `card comparison ${verdictTone(candidate)}`, 'aria-labelledby': `candidate-${at + 1}` },
        el('h2', { id: `candidate-${at + 1}` }, link({ view: 'candidate', n: at + 1 }, {}, said(candidate.label))),
        verdictOf(candidate, 'h3'),
        flipTiles(candidate.cases, (kind) => address({ view: 'candidate', n: at + 1, kind })));
      return node;
    })),
    card('All sides', sidesTable(reference, candidates.map((one) => one.candidate),
      [candidates[0]?.opened?.pages[0], ...candidates.map((one) => one.opened?.pages[1])])),
    comparisonMethod(null, report.method));
}

/** The way to the other candidates. */
function candidateTabs(current) {
  return el('nav', { class: 'tabs', 'aria-label': 'Candidates' },
    link({ view: 'comparison' }, {}, 'All candidates'),
    report.candidates.map((one, at) => link({ view: 'candidate', n: at + 1 }, { 'aria-current': at === current && 'page' }, said(one.label))));
}

views.set('comparison', {
  label: 'Comparison',
  kinds: ['run', 'comparison'],
  when: () => report.kind === 'comparison' || Boolean(report.comparison),
  draw(main, params) {
    const here = { view: 'comparison', kind: params.kind, q: params.q };
    if (report.kind === 'run') {
      const { shown, bearing, method, cut, both_outputs: both } = report.comparison;
      drawCandidate(main, shown, here, { bearing, method, cut, both });
    } else if (report.candidates.length === 1) {
      drawCandidate(main, report.candidates[0], here, { suite: report.subject, gate: comparisonGate(), method: report.method });
    } else {
      drawSeveral(main);
    }
  },
});

views.set('candidate', {
  kinds: ['comparison'],
  when: () => report.candidates.length > 1,
  draw(main, params) {
    const at = Math.min(report.candidates.length, Math.max(1, Number.parseInt(params.n, 10) || 1)) - 1;
    const here = { view: 'candidate', n: at + 1, kind: params.kind, q: params.q };
    drawCandidate(main, report.candidates[at], here, { method: report.method, several: candidateTabs(at) });
  },
});
