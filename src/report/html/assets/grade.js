// Texts of others, folded when they are long; what graders and judges said.

/** Lines and characters that are shown before one asks for more. */
const FOLD_LINES = 30;
const FOLD_CHARACTERS = 4_000;
/** Characters that take the room of a line. */
const LINE_CHARACTERS = 140;

/** A text as details/shown.rs gives it. `plain`: as a paragraph, in the type of the page; `lines`: how many are shown at first. */
function textView(shown, label, { plain = false, lines: most = FOLD_LINES } = {}) {
  const { text } = shown;
  const lines = text.split('\n');
  const tall = lines.length > most + Math.min(5, most / 4);
  let brief = tall ? lines.slice(0, most).join('\n') : text;
  // A long line takes as much room as many short ones.
  const characters = Math.min(FOLD_CHARACTERS, most * LINE_CHARACTERS);
  if (brief.length > characters * 1.2) brief = brief.slice(0, characters).replace(/[\ud800-\udbff]$/, '');
  const box = plain
    ? el('p', { class: 'said' }, said(brief))
    : el('pre', { class: 'said' }, text === '' ? el('span', { class: 'soft' }, '(empty)') : said(brief));
  const tools = el('div', { class: 'text-tools' });
  if (brief.length < text.length) {
    const all = shown.cut ? '' : 'all ';
    const words = tall ? `Show ${all}${grouped(lines.length)} lines` : `Show ${all}${grouped(text.length)} characters`;
    const button = el('button', { type: 'button', class: 'unfold', 'aria-expanded': 'false' }, words);
    button.addEventListener('click', () => {
      const open = button.getAttribute('aria-expanded') === 'false';
      box.replaceChildren(said(open ? text : brief));
      button.setAttribute('aria-expanded', String(open));
      button.textContent = open ? 'Show less' : words;
    });
    tools.append(button);
  }
  if (!plain && text.length > 0) tools.append(copyButton(() => text, `Copy: ${label}`));
  return el('div', { class: `text-view${plain ? ' plain' : ''}` }, box, tools.firstChild && tools, shown.cut && el('p', { class: 'soft small cut' }, shown.cut));
}

/** A text under a heading of its own that opens it. */
function foldedText(title, shown, open = false) {
  const body = el('div', {});
  const fillBody = () => { if (!body.firstChild) body.append(textView(shown, title)); };
  const folded = el('details', { class: 'folded', open }, el('summary', {}, said(title)), body);
  if (open) fillBody();
  folded.addEventListener('toggle', fillBody);
  return folded;
}

/** Details of at most so many characters on one line stand beside each other. */
const SHORT_DETAIL = 60;

function gradeView(grade, sample) {
  const graded = sample.extracted ?? sample.output;
  const details = grade.details ?? [];
  const short = details.filter(([, { text }]) => text.length <= SHORT_DETAIL && !text.includes('\n'));
  const long = details.filter((detail) => !short.includes(detail));
  const name = grade.name ?? (grade.type === 'code' ? grade.method : grade.type);
  const kind = [grade.type, grade.method].filter((word) => word !== name && word !== grade.type).length > 0 || grade.name
    ? `${grade.type}${grade.method !== grade.type && grade.method !== name ? `, ${grade.method}` : ''}` : grade.type === name ? '' : grade.type;
  return el('section', { class: 'grade', 'data-outcome': grade.outcome },
    el('div', { class: 'grade-head' },
      badge(grade.outcome, grade.outcome), el('h4', {}, said(name)),
      kind && el('span', { class: 'soft' }, said(kind)),
      grade.score !== '' && el('span', { class: 'soft number' }, `score ${grade.score}`),
      grade.cause && el('code', { class: 'soft' }, grade.cause)),
    // The sample's own reason stands above.
    grade.reason && grade.reason.text !== sample.reason?.text && textView(grade.reason, 'Reason', { plain: true }),
    gradeRemarks(grade),
    grade.judged && judgedView(grade.judged),
    grade.places ? placesView(grade.places) : null,
    sidesView(grade, grade.actual_is_output ? graded : grade.actual),
    grade.metrics && facts(grade.metrics.map(([metric, text]) => [said(metric), said(text)])),
    grade.unmeasured && el('p', { class: 'small' }, 'Could not be measured: ', grade.unmeasured.map((metric, at) => [at > 0 && ', ', said(metric)])),
    short.length > 0 && facts(short.map(([key, { text }]) => [said(key), said(text)])),
    long.map(([key, shown]) => foldedText(key, shown, grade.outcome !== 'passed' && /stderr|traceback|error|failures/i.test(key))));
}

function gradeRemarks(grade) {
  const remarks = [
    grade.informative && 'Informative: it does not affect the verdict.',
    grade.adjudicated && 'A program timed out and was run again, alone, to confirm the timeout.',
    grade.trust && [`Trust in this verdict: ${grade.trust[1]} (`, el('code', {}, grade.trust[0]), ').'],
  ].filter(Boolean);
  return remarks.length > 0 && el('ul', { class: 'grade-remarks' }, remarks.map((remark) => el('li', {}, remark)));
}

/** Expected and actual: the lines that differ when there are several, else both. */
function sidesView(grade, actual, options) {
  const { expected } = grade;
  if (!expected && !actual) return null;
  const both = expected && actual && grade.outcome !== 'passed';
  const long = both && (expected.text.includes('\n') || actual.text.includes('\n'));
  const lines = long && (expected.json ?? false) === (actual.json ?? false) ? lineDiff(expected.text, actual.text) : null;
  if (lines) {
    return el('div', { class: 'part' }, diffView(lines),
      (expected.cut || actual.cut) && el('p', { class: 'soft small cut' }, 'Only the shown parts are compared.'),
      // Where values are shown in brief, the page of the case has all of them.
      !options && [foldedText('Expected, in full', expected), !grade.actual_is_output && foldedText('Actual, in full', actual)]);
  }
  const words = both && !long ? wordDiff(expected.text, actual.text) : null;
  const side = (title, shown, pieces, tone) => shown && el('div', { class: `side ${tone}` }, el('h5', {}, title),
    pieces ? el('pre', { class: 'said' }, inPieces(pieces)) : textView(shown, title, options));
  // Where the grade passed, the output above is what came.
  const again = grade.outcome === 'passed' && grade.actual_is_output;
  if (again && !expected) return null;
  return el('div', { class: 'two-sides' }, side('Expected', expected, words?.[0], 'missing'), !again && side('Actual', actual, words?.[1], 'extra'));
}

function placesView({ rows, more }) {
  const side = (sign, pieces, kind) => pieces && el('div', { class: `line ${kind}` },
    el('span', { class: 'sign', 'aria-hidden': 'true' }, sign),
    el('span', { class: 'words' }, el('span', { class: 'away' }, kind === 'missing' ? 'expected: ' : 'actual: '), inPieces(pieces)));
  return el('div', { class: 'places' },
    el('p', { class: 'diff-legend soft small' }, el('span', { class: 'tone-fail' }, '− expected'), el('span', { class: 'tone-pass' }, '+ actual')),
    rows.map(({ path, note, expected, actual }) => el('div', { class: 'place' },
      el('p', { class: 'path' }, el('code', {}, said(path)), note && el('span', { class: 'soft' }, ` ${note}`)),
      el('div', { class: 'diff' }, side('−', expected, 'missing'), side('+', actual, 'extra')))),
    more > 0 && el('p', { class: 'soft small' }, `and ${plural(more, 'more difference')}`));
}

function judgedView(judged) {
  const [moreCriteria, moreChecks, moreVotes] = judged.more;
  const some = (at) => judged.criteria.some((row) => row[at] !== '');
  const columns = [['Criterion', 0], ['Weight', 1, true], ['Score', 2, true], some(3) && ['Scale', 3, true], ['Share', 4, true], some(5) && ['Votes', 5, true]].filter(Boolean);
  const spoken = judged.votes.length > 1 || judged.votes.some(({ words }) => words !== '');
  const andMore = (n, noun) => n > 0 && el('p', { class: 'soft small' }, `and ${plural(n, noun)}`);
  return el('div', { class: 'judged' },
    (judged.score || judged.panel) && el('p', {}, [judged.score, judged.panel].filter(Boolean).map((words, at) => [at > 0 && '; ', said(words)])),
    judged.criteria.length > 0 && table('Criteria', columns.map(([title, , number]) => ({ title, number })),
      judged.criteria.map((row) => columns.map(([, at]) => said(row[at])))),
    andMore(moreCriteria, 'more score'),
    judged.checks.length > 0 && el('ul', { class: 'checks' }, judged.checks.map(([met, words]) =>
      el('li', { class: met ? 'tone-pass' : 'tone-fail' }, el('span', { class: 'mark' }, met ? '✓ as it should be: ' : '✗ not as it should be: '), said(words)))),
    andMore(moreChecks, 'more check'),
    judged.justification.text && el('div', {}, el('h5', {}, 'Why'), textView(judged.justification, 'Why', { plain: true })),
    judged.feedback.length > 0 && el('div', {}, el('h5', {}, 'Feedback'), el('ul', {}, judged.feedback.map((shown) => el('li', {}, textView(shown, 'Feedback', { plain: true }))))),
    judged.notices.map((shown) => el('p', { class: 'note' }, said(shown.text))),
    spoken && table('Votes', [{ title: 'Vote' }, { title: 'Outcome' }, { title: 'Share', number: true }, { title: 'Remark' }],
      judged.votes.map((vote) => [said(vote.model), badge(vote.outcome, vote.outcome), vote.score, said(vote.words)])),
    andMore(moreVotes, 'more vote'),
    exchangeView(judged));
}

/** Every word between the harness and the judges. */
function exchangeView(judged) {
  const body = el('div', { class: 'exchange' });
  const turn = (who, shown) => shown?.text && el('div', { class: 'turn' }, el('h5', {}, who), textView(shown, who));
  const fillBody = () => {
    if (body.firstChild) return;
    body.append(...[
      turn('System', judged.system), turn('Asked', judged.prompt),
      judged.votes.map((vote) => el('div', { class: 'vote' },
        el('div', { class: 'grade-head' }, badge(vote.outcome, vote.outcome), el('h5', {}, said(vote.model), ` vote ${vote.index + 1}`),
          vote.score && el('span', { class: 'soft' }, vote.score)),
        vote.scores.length > 0 && facts(vote.scores.map(([name, score]) => [said(name), said(score)])),
        vote.justification.text && textView(vote.justification, 'Justification', { plain: true }),
        vote.replies.length === 0 && el('p', { class: 'soft' }, 'No answer.'),
        vote.replies.map((reply, at) => [
          turn(`Answer ${at + 1}${reply.fault ? `: can't be used (${reply.fault})` : ''}${reply.finish && reply.finish !== 'stop' ? `, ended: ${reply.finish}` : ''}`, reply.text),
          reply.why.text && textView(reply.why, 'Why', { plain: true }),
          turn('Repair request', reply.repair)]),
        vote.facts.length > 0 && facts(vote.facts.map(([name, text]) => [name, said(text)])))),
    ].flat(Infinity).filter(Boolean));
  };
  const folded = el('details', { class: 'folded' }, el('summary', {}, 'Requests and answers'), body);
  folded.addEventListener('toggle', fillBody);
  return folded;
}
