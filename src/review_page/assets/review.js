// The page of a review: one item a screen, the next one at hand, every decision sent at once.

const KEYS = [
  ['1 to 5', 'rate on a scale, by its numbers'], ['p, f', 'pass, fail'], ['← → =', 'of two outputs: left or right is better, tie'],
  ['↑ ↓ and numbers', 'select a criterion or an output, and rate it'], ['Enter', 'save ratings of several criteria, or an order'],
  ['c', 'comment; Escape leaves it'], ['s', 'skip'], ['u', 'undo the last decision'], ['j, k', 'next and previous item, without a decision'],
  ['v', 'view of the outputs: as they are, rendered, difference'], ['b', 'pause (break) and resume the clock'], ['?', 'this help'],
];

const page = block('review');
const source = page ? offlineSource(page) : servedSource();
const state = {
  session: null, at: null, form: null, item: null, drafts: new Map(), items: new Map(), decided: new Set(),
  /** Decisions that are not acknowledged yet, oldest first. */
  unsaved: [], sending: false, retry: null,
  /** Decisions that were refused, as sentences. */
  refused: [],
};

/** Time on the item: it stops while the page is hidden or paused. */
const clock = {
  spent: 0, since: null, paused: false,
  reset() { this.spent = 0; this.since = this.paused || document.hidden ? null : performance.now(); },
  stop() { this.spent = this.milliseconds(); this.since = null; },
  go() { if (!this.paused && !document.hidden && this.since === null) this.since = performance.now(); },
  milliseconds() { return this.spent + (this.since === null ? 0 : performance.now() - this.since); },
};

const place = (name) => document.querySelector(`[data-place="${name}"]`);

function clockWords(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

function tick() {
  const limit = state.item?.time_limit_minutes;
  const seconds = clock.milliseconds() / 1000;
  place('clock').textContent = clock.paused ? `${clockWords(seconds)} paused` : limit ? `${clockWords(seconds)} of ${clockWords(limit * 60)}` : clockWords(seconds);
  place('clock').classList.toggle('late', Boolean(limit) && seconds > limit * 60);
}

function getItem(index) {
  if (!state.items.has(index)) {
    const loading = source.item(index);
    state.items.set(index, loading);
    loading.catch(() => state.items.delete(index));
    // What was seen long ago is loaded again.
    if (state.items.size > 50) state.items.delete(state.items.keys().next().value);
  }
  return state.items.get(index);
}

/** The next item without a decision, from the beginning after the last one; null when there is none. */
function nextOpen(from) {
  const { items } = state.session;
  for (let step = 0; step < items; step += 1) {
    const index = (from + step) % items;
    if (!state.decided.has(index)) return index;
  }
  return null;
}

async function show(index) {
  state.at = index;
  state.form = null;
  if (index === null) {
    drawEnd();
    return;
  }
  let item;
  try {
    item = await getItem(index);
  } catch (fault) {
    if (state.at === index) drawFault(fault, () => show(index));
    return;
  }
  // Another key came first.
  if (state.at !== index) return;
  drawItem(item);
  for (const next of new Set([nextOpen(index + 1), index + 1])) if (next !== null && next !== index && next < state.session.items) getItem(next).catch(() => {});
}

function drawItem(item) {
  drawnViews = [];
  state.item = item;
  const index = state.at;
  if (!state.drafts.has(index)) state.drafts.set(index, draftOf(item.decision));
  const draft = state.drafts.get(index);
  state.form = ratingForm(item, draft, decide);
  const several = item.outputs.length > 1;
  const comment = el('textarea', { id: 'comment', rows: 3, maxlength: 50_000, 'aria-keyshortcuts': 'c' });
  comment.value = draft.comment ?? '';
  comment.addEventListener('input', () => { draft.comment = comment.value; });
  comment.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') comment.blur();
  });
  const section = (kind, title, ...children) => el('section', { class: `card ${kind}`, 'aria-label': title }, el('h2', {}, title), children);
  const main = document.getElementById('main');
  const inRating = document.activeElement?.closest?.('.desk');
  main.replaceChildren(
    el('div', { class: 'item-head' },
      el('h1', { id: 'item-title', tabindex: '-1' }, `Item ${grouped(index + 1)} of ${grouped(state.session.items)}`),
      item.eval && el('span', { class: 'soft' }, said(item.eval), item.case && item.case !== item.eval && [' › ', said(item.case)]),
      state.decided.has(index) && item.decision && badge('info', `decided: ${ratingWords(item.decision.rating)}`)),
    el('div', { class: 'sides' },
      el('div', { class: 'reading' },
        section('input', 'Input', textViews(item.input, 'Input')),
        el('div', { class: several ? 'outputs several' : 'outputs' }, item.outputs.map((output, at) =>
          section('output', several ? `Output ${LETTERS[at] ?? at + 1}` : 'Output',
            several && output.target && el('p', { class: 'soft small' }, said(output.target)),
            textViews(output, several ? `Output ${LETTERS[at] ?? at + 1}` : 'Output', item.reference ?? null),
            output.changes && [el('h3', {}, 'Changes in the workspace'), patchView('', output.changes)]))),
        typeof item.reference === 'string' && el('details', { class: 'card fold' }, el('summary', {}, el('h2', {}, 'Reference')), el('div', { class: 'fold-body' }, rawText(item.reference, 'Reference'))),
        (item.context ?? []).length > 0 && section('context', 'About this output', facts(item.context.map(({ name, value }) => [said(name), said(value)]))),
        (item.others ?? []).length > 0 && section('others', 'Other reviewers', item.others.map((other) =>
          el('p', {}, said(other.reviewer), ': ', el('b', {}, said(ratingWords(other.rating))), other.comment && [' ', said(other.comment)])))),
      el('aside', { class: 'desk card', 'aria-label': 'Rubric and rating' },
        item.adjudication && el('p', {}, badge('pending', 'adjudication'), ' Other reviewers differ: your rating decides.'),
        el('h2', {}, 'Rubric'),
        item.rubric.text === '' ? el('p', { class: 'soft' }, 'No rubric is given.') : item.rubric.markup ? rendered(item.rubric.markup) : el('p', { class: 'said' }, said(item.rubric.text)),
        item.scale.description && el('p', {}, said(item.scale.description)),
        state.form.node,
        el('label', { class: 'comment-label', for: 'comment' }, 'Comment ', keyHint('c')), comment,
        el('div', { class: 'acts' },
          el('button', { type: 'button', 'data-act': 'skip', 'aria-keyshortcuts': 's', onclick: acts.s }, 'Skip ', keyHint('s')),
          el('button', { type: 'button', 'data-act': 'previous', 'aria-keyshortcuts': 'k', onclick: acts.k }, 'Previous ', keyHint('k')),
          el('button', { type: 'button', 'data-act': 'next', 'aria-keyshortcuts': 'j', onclick: acts.j }, 'Next ', keyHint('j'))))));
  main.dataset.item = String(index);
  scrollTo(0, 0);
  clock.reset();
  tick();
  // The button that was pressed is gone.
  if (inRating) document.getElementById('item-title').focus({ preventScroll: true });
  announce(`Item ${index + 1} of ${state.session.items}`);
}

/** Takes a decision on the item that is shown, and shows the next one. */
function decide(rating) {
  const index = state.at;
  if (index === null || !state.item) return;
  clock.stop();
  const decision = { rating, seconds: Math.round(clock.milliseconds()) / 1000 };
  const comment = (state.drafts.get(index)?.comment ?? '').trim();
  if (comment !== '') decision.comment = comment;
  state.unsaved.push({ index, decision });
  state.decided.add(index);
  state.drafts.delete(index);
  const item = { ...state.item, decision };
  state.items.set(index, Promise.resolve(item));
  state.item = null;
  send();
  show(nextOpen(index + 1));
}

/** Sends decisions one after the other. One that the server can't take now stays; one that it refuses is named. */
async function send() {
  if (state.sending) return;
  state.sending = true;
  clearTimeout(state.retry);
  while (state.unsaved.length > 0) {
    drawSaved();
    const { index, decision } = state.unsaved[0];
    try {
      const answer = await source.rate(index, decision);
      state.unsaved.shift();
      state.session.progress = answer.progress;
      place('fault').hidden = true;
    } catch (fault) {
      if (fault.status >= 400 && fault.status < 500) {
        state.unsaved.shift();
        state.refused.push(`Item ${index + 1} was not saved: ${fault.message}`);
        state.decided.delete(index);
        state.items.delete(index);
        drawRefused();
      } else {
        drawUnsaved(fault);
        state.retry = setTimeout(send, 2000);
        break;
      }
    }
  }
  state.sending = false;
  drawProgress();
  drawSaved();
  if (state.at === null) drawEnd();
}

async function undo() {
  // One that was not sent yet needs no server. The first may have been saved though its answer was lost.
  if (state.unsaved.length > 1) {
    reopen(state.unsaved.pop().index);
    return;
  }
  while (state.sending) await new Promise((done) => { setTimeout(done, 5); });
  if (state.unsaved.length > 0) {
    announce('The last decision is not saved yet. It can be undone once the server answers.');
    return;
  }
  try {
    const answer = await source.undo();
    state.session.progress = answer.progress;
    drawProgress();
    if (answer.index === null) announce('There is nothing to undo.');
    else reopen(answer.index);
  } catch (fault) {
    drawUnsaved(fault);
  }
}

/** Shows an item again whose decision was taken back; what was rated and commented is still there. */
async function reopen(index) {
  const before = await getItem(index).catch(() => null);
  state.decided.delete(index);
  state.drafts.set(index, draftOf(before?.decision));
  if (before) state.items.set(index, Promise.resolve({ ...before, decision: null }));
  drawSaved();
  show(index);
}

function pause() {
  clock.paused = !clock.paused;
  clock.paused ? clock.stop() : clock.go();
  place('pause').setAttribute('aria-pressed', String(clock.paused));
  announce(clock.paused ? 'Paused' : 'Resumed');
  tick();
}

const acts = {
  s: () => decide({ type: 'skip' }),
  u: undo,
  c: () => document.getElementById('comment')?.focus(),
  v: cycleView,
  b: pause,
  j: () => step(1),
  k: () => step(-1),
  '?': () => document.getElementById('help').showModal(),
};

function step(by) {
  const to = state.at === null ? state.session.items - 1 : state.at + by;
  if (to >= 0 && to < state.session.items) show(to);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.closest?.('input, select, textarea, dialog')) return;
  // Enter on a button presses it.
  if (event.key === 'Enter' && event.target.closest?.('button, summary')) return;
  const done = state.item && state.form?.key(event.key);
  if (!done && !Object.hasOwn(acts, event.key)) return;
  event.preventDefault();
  if (!done) acts[event.key]();
}

function drawProgress() {
  const { progress, items } = state.session;
  const bar = place('bar');
  bar.max = Math.max(1, items);
  bar.value = progress.done;
  const mean = progress.mean_seconds === null || progress.mean_seconds === undefined ? '' : `, ${progress.mean_seconds.toFixed(1)} s an item`;
  const skipped = progress.skipped > 0 ? `, ${grouped(progress.skipped)} skipped` : '';
  place('words').textContent = `${grouped(progress.done)} of ${grouped(items)} decided${skipped}${mean}`;
}

function drawSaved() {
  document.documentElement.dataset.unsaved = String(state.unsaved.length);
  place('saved').textContent = state.unsaved.length === 0 ? '' : `${plural(state.unsaved.length, 'decision')} not saved yet`;
}

/** Decisions that wait for a server that does not answer: they can be saved as a file, which `--import` reads. */
function drawUnsaved(fault) {
  const box = place('fault');
  box.hidden = false;
  box.replaceChildren(el('p', {}, el('b', {}, state.unsaved.length > 0 ? 'Not saved: ' : 'Not done: '), said(fault.message)),
    state.unsaved.length > 0 && el('p', {}, `${plural(state.unsaved.length, 'decision')} of this page will be sent again. `,
      el('button', { type: 'button', onclick: saveUnsaved }, 'Save them as a file')));
}

async function saveUnsaved() {
  const decisions = await Promise.all(state.unsaved.map(async ({ index, decision }) =>
    filed(await getItem(index), decision)));
  download(decisionFile(state.session, state.session.reviewer, decisions), 'review-unsaved.json');
}

function drawRefused() {
  const box = place('refused');
  box.hidden = state.refused.length === 0;
  box.replaceChildren(el('ul', { class: 'reasons' }, state.refused.map((words) => el('li', {}, said(words)))),
    el('button', { type: 'button', onclick: () => { state.refused = []; drawRefused(); } }, 'Close'));
}

function drawFault(fault, again) {
  state.item = null;
  document.getElementById('main').replaceChildren(
    el('h1', { tabindex: '-1' }, 'This can\'t be shown'), el('p', {}, said(fault.message)),
    again && el('p', {}, el('button', { type: 'button', onclick: again }, 'Try again')));
}

function drawEnd() {
  state.item = null;
  clock.stop();
  const { progress } = state.session;
  const main = document.getElementById('main');
  delete main.dataset.item;
  main.replaceChildren(el('section', { class: 'card', 'aria-label': 'The end' },
    el('h1', { id: 'item-title', tabindex: '-1' }, progress.skipped > 0 ? 'Nothing is left but what was skipped' : state.session.items === 0 ? 'There is nothing to review' : 'Everything is reviewed'),
    el('p', {}, page ? 'Save the decisions, and send the file to the person who gave you this page.' : 'Every decision is saved. This page can be closed.'),
    el('p', { class: 'acts' }, el('button', { type: 'button', onclick: undo }, 'Undo the last decision ', keyHint('u')),
      state.session.items > 0 && el('button', { type: 'button', onclick: acts.k }, 'Look at the items ', keyHint('k')))));
  announce('Nothing is left to review.');
}

/** The part of the page that an offline review has: who reviews, and the file. */
function offlineTools() {
  const name = el('input', { type: 'text', id: 'reviewer', autocomplete: 'name', value: page.session.reviewer ?? '' });
  const save = () => {
    const reviewer = name.value.trim();
    if (reviewer === '') { name.focus(); announce('Enter your name first.'); return; }
    download(source.file(reviewer), `review-${reviewer.replaceAll(/[^\w.-]+/g, '_')}.json`);
  };
  return el('div', { class: 'offline' }, el('label', { for: 'reviewer' }, 'Your name '), name,
    el('button', { type: 'button', 'data-act': 'save-file', onclick: save }, 'Save decisions as a file'));
}

function helpDialog() {
  const dialog = el('dialog', { id: 'help', 'aria-labelledby': 'help-title' },
    el('h2', { id: 'help-title' }, 'Keys'),
    el('dl', { class: 'keys' }, KEYS.map(([key, words]) => el('div', {}, el('dt', {}, key), el('dd', {}, words)))),
    el('button', { type: 'button', onclick: () => dialog.close() }, 'Close'));
  return dialog;
}

async function start() {
  keepTheme();
  document.getElementById('app').append(helpDialog());
  document.querySelector('.review-bar .acts').append(
    el('button', { type: 'button', 'data-act': 'undo', 'aria-keyshortcuts': 'u', onclick: undo }, 'Undo ', keyHint('u')),
    el('button', { type: 'button', 'data-place': 'pause', 'aria-pressed': 'false', 'aria-keyshortcuts': 'b', onclick: pause }, 'Pause ', keyHint('b')),
    el('button', { type: 'button', 'data-act': 'help', 'aria-keyshortcuts': '?', onclick: acts['?'] }, 'Help ', keyHint('?')));
  try {
    state.session = await source.session();
  } catch (fault) {
    const words = fault.status === 401 ? new SourceError('Open the link that you were given: it has the token of a reviewer.', 401) : fault;
    drawFault(words, fault.status === 401 ? null : () => location.reload());
    document.documentElement.dataset.ready = 'true';
    return;
  }
  const { review, reviewer } = state.session;
  document.querySelector('.top .subject').replaceChildren('Review of ', said(review.suite), ...(reviewer ? [' by ', said(reviewer)] : []));
  state.session.decided.forEach((index) => state.decided.add(index));
  if (page) document.querySelector('.review-bar').append(offlineTools());
  addEventListener('keydown', onKey);
  addEventListener('beforeunload', (event) => { if (state.unsaved.length > 0) event.preventDefault(); });
  document.addEventListener('visibilitychange', () => {
    document.hidden ? clock.stop() : clock.go();
  });
  setInterval(tick, 500);
  drawProgress();
  await show(nextOpen(0));
  document.documentElement.dataset.ready = 'true';
}

start();
