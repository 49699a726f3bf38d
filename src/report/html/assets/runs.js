// A case in several runs: what each was given, what came back, where two of them differ, and why each was graded so.

/** Lines of an input and of an output before the rest is folded. */
const RUN_INPUT_LINES = 8;
const RUN_OUTPUT_LINES = 14;

/** A line of a list that opens into what `make` gives; without `make` it is only a line. */
function openedLine(attributes, line, make) {
  if (!make) return el('li', attributes, el('div', { class: 'opens-not' }, line));
  const body = el('div', { class: 'opened' });
  const node = el('details', {}, el('summary', { class: 'opens' }, line), body);
  node.addEventListener('toggle', () => { if (node.open && !body.firstChild) body.append(...make().flat(Infinity).filter(Boolean)); });
  return el('li', attributes, node);
}

/**
 * What a row opens into; null where nothing is known. `opened` as comparison/mod.rs and sides.rs write it: {block, cut, pages: addresses of the
 * runs' own pages, baselines?: whether a side is a score baseline}; `labels` of the runs; `id`: [eval, case].
 */
function openedCase(opened, at, labels, id) {
  const known = opened && blockItem(opened.block, at);
  return known && (() => caseInRuns(known, opened, labels, id));
}

function caseInRuns({ input, runs }, { pages = [], baselines = [] }, labels, id) {
  const outputs = runs.map((run) => run?.sample?.output);
  const two = runs.length === 2 && outputs.every(Boolean) ? outputs : null;
  const cut = two && two.some((output) => output.cut);
  const alike = two && two[0].text === two[1].text;
  // Texts that look alike are not the same where one is data, or where more of them is not shown.
  const kind = two && (two[0].json ?? false) === (two[1].json ?? false);
  const same = alike && kind && !cut && !runs.some((run) => run.sample.output_truncated);
  const long = two && !alike && two.some(({ text }) => text.includes('\n'));
  const lines = long && kind ? lineDiff(two[0].text, two[1].text) : null;
  const words = two && !alike && !long && !cut ? wordDiff(two[0].text, two[1].text) : null;
  const column = (run, n) => el('section', { class: 'run', 'aria-label': labels[n] },
    el('div', { class: 'grade-head' },
      el('h4', {}, said(labels[n])),
      run && badge(run.outcome, run.outcome),
      run?.sample && run.sample.of > 1 && el('span', { class: 'soft small' }, `sample ${grouped(run.sample.number)} of ${grouped(run.sample.of)}`),
      run?.sample?.cause && el('code', { class: 'soft' }, run.sample.cause)),
    run ? runParts(run, { folded: Boolean(lines), pieces: words?.[n] })
      : el('p', { class: 'soft' }, baselines[n] ? 'A score baseline has no inputs and outputs.' : 'This run does not have the case, or its reports omit inputs and outputs.'),
    run && pages[n] && el('p', { class: 'small' }, el('a', { page: `${pages[n]}${address({ case: id })}` }, 'All samples, in the report of this run')));
  return [
    input && part('Input', inputParts(input, 'h4', { lines: RUN_INPUT_LINES })),
    same && el('p', {}, runs[0].outcome === runs[1].outcome ? 'The outputs are the same.' : 'The outputs are the same; they were graded differently.'),
    alike && kind && !same && el('p', {}, 'The shown parts of the outputs are the same.'),
    lines && part('Difference of the outputs', diffView(lines, labels),
      cut && el('p', { class: 'soft small cut' }, 'Only the shown parts are compared.')),
    el('div', { class: 'runs' }, runs.map(column)),
  ];
}

/** One run of a case; `folded`: its output is shown on request; `pieces`: its output with marks, as wordDiff() gives them. */
function runParts({ input, sample }, { folded: isFolded, pieces }) {
  if (!sample) return el('p', { class: 'soft' }, 'The run kept no sample of this case.');
  const { output } = sample;
  return [
    input && foldedText('Its input, which differs', { text: input.parts.map(([label, { text }]) => (label ? `${label}: ${text}` : text)).join('\n\n') }),
    !output ? el('p', { class: 'soft' }, 'No output.')
      : isFolded ? foldedText('Output', output)
        : pieces ? el('pre', { class: 'said' }, inPieces(pieces)) : textView(output, 'Output', { lines: RUN_OUTPUT_LINES }),
    sample.output_truncated && el('p', { class: 'soft small' }, 'The output was too large to be stored in full; this is its beginning.'),
    sample.reason && el('div', { class: `reason-box tone-${sample.outcome}` }, textView(sample.reason, 'Reason', { plain: true })),
    (sample.grades ?? []).map((grade) => el('div', { class: 'part' },
      el('div', { class: 'grade-head' }, badge(grade.outcome, grade.outcome), el('h5', {}, said(grade.name))),
      grade.reason && textView(grade.reason, 'Reason', { plain: true }),
      grade.justification && textView(grade.justification, 'Justification', { plain: true }))),
  ];
}

/** How many rows have no room on this page, or why none opens. */
function rowsCut(opened) {
  if (opened && opened.cut === 0 && !document.getElementById(`${opened.block}-0`)) {
    return el('p', { class: 'soft small' }, 'The rows do not open: the reports of these runs have no inputs and outputs.');
  }
  return opened?.cut > 0 && el('p', { class: 'soft small' }, `${plural(opened.cut, 'row')} cannot be opened: this page has no room for more. The journals of the runs have everything.`);
}
