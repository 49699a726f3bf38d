// The rating of an item: points of a scale by criterion, passed or failed, or an order of several outputs. Each form draws itself
// from a draft, takes keys, and calls `save(rating)` once the rating is whole.

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** Points of a scale beyond which it is a field for a number. */
const MOST_POINTS = 11;

function ratingForm(item, draft, save) {
  const forms = { likert: likertForm, binary: binaryForm, ranking: rankingForm };
  return forms[item.scale.type](item, draft, save);
}

function keyHint(key) {
  return el('kbd', { 'aria-hidden': 'true' }, key);
}

/** A button of a choice; `key` is the key that does the same. */
function choice(key, words, pressed, act, attributes = {}) {
  return el('button', { type: 'button', class: 'choice', 'aria-pressed': String(pressed), 'aria-keyshortcuts': key && (key === '←' ? 'ArrowLeft' : key === '→' ? 'ArrowRight' : key), onclick: act, ...attributes },
    key && el('kbd', {}, key), el('span', {}, words));
}

function likertForm(item, draft, save) {
  const [low, high] = item.scale.range ?? [1, 5];
  const criteria = item.scale.criteria?.length > 0 ? item.scale.criteria : [''];
  const points = Array.from({ length: Math.min(high - low + 1, 1000) }, (_, at) => low + at);
  const keyOf = (point) => (point >= 0 && point <= 9 ? String(point) : point === 10 && low > 0 ? '0' : null);
  draft.scores ??= {};
  draft.active ??= 0;
  const box = el('div', { class: 'rating likert' });
  const isWhole = () => criteria.every((name) => Object.hasOwn(draft.scores, name));
  const rate = (at, point) => {
    const wasWhole = isWhole();
    draft.scores[criteria[at]] = point;
    const open = criteria.findIndex((name) => !Object.hasOwn(draft.scores, name));
    draft.active = open < 0 ? at : open;
    draw();
    if (criteria.length > 1) announce(`${criteria[at]}: ${point}`);
    // One that was whole before is being changed: Enter saves it.
    if (isWhole() && (criteria.length === 1 || !wasWhole)) finish();
  };
  const finish = () => { if (isWhole()) save({ type: 'likert', scores: Object.fromEntries(criteria.map((name) => [name, draft.scores[name]])) }); };
  const field = (name, at) => {
    const input = el('input', { type: 'number', class: 'point-field', min: low, max: high, step: 1, value: draft.scores[name] ?? '', 'aria-label': name || 'Rating' });
    input.addEventListener('change', () => {
      const point = Number(input.value);
      if (Number.isInteger(point) && point >= low && point <= high) rate(at, point);
    });
    return input;
  };
  const group = (name, at) => el('fieldset', { class: `criterion${criteria.length > 1 && at === draft.active ? ' active' : ''}` },
    el('legend', {}, name === '' ? 'Rating' : said(name)),
    points.length > MOST_POINTS ? field(name, at) : el('div', { class: 'choices' }, points.map((point) =>
      choice(keyOf(point), [keyOf(point) === String(point) ? '' : `${point} `, item.scale.labels?.[point] ? said(item.scale.labels[point]) : keyOf(point) ? '' : String(point)],
        draft.scores[name] === point, () => rate(at, point), { 'data-point': point }))));
  const draw = () => box.replaceChildren(...criteria.map(group), ...(criteria.length > 1
    ? [el('p', { class: 'soft small' }, 'Up and down select a criterion. The last rating that is missing saves.'), el('button', { type: 'button', class: 'save', disabled: !isWhole(), onclick: finish }, 'Save ', keyHint('Enter'))]
    : []));
  draw();
  return {
    node: box,
    key: (key) => {
      if (key === 'Enter' && criteria.length > 1) { finish(); return true; }
      if ((key === 'ArrowDown' || key === 'ArrowUp') && criteria.length > 1) {
        draft.active = (draft.active + (key === 'ArrowDown' ? 1 : criteria.length - 1)) % criteria.length;
        draw();
        announce(criteria[draft.active]);
        return true;
      }
      const point = points.length <= MOST_POINTS && points.find((one) => keyOf(one) === key);
      if (point === false || point === undefined) return false;
      rate(draft.active, point);
      return true;
    },
  };
}

function binaryForm(item, draft, save) {
  const option = (value) => (item.scale.options ?? []).find((one) => one.value === value);
  const words = (value) => {
    const { label, description } = option(value) ?? { label: value ? 'Pass' : 'Fail' };
    return [said(label), description && el('span', { class: 'soft small' }, ' ', said(description))];
  };
  const rate = (value) => {
    draft.value = value;
    save({ type: 'binary', value });
  };
  return {
    node: el('div', { class: 'rating binary' }, el('div', { class: 'choices', role: 'group', 'aria-label': 'Rating' },
      choice('p', words(true), draft.value === true, () => rate(true), { class: 'choice tone-pass', 'data-point': 'pass' }),
      choice('f', words(false), draft.value === false, () => rate(false), { class: 'choice tone-fail', 'data-point': 'fail' }))),
    key: (key) => {
      if (key !== 'p' && key !== 'f') return false;
      rate(key === 'p');
      return true;
    },
  };
}

/** Two outputs: which is better. More: a rank for each. Equal ranks are ties, where they are allowed. */
function rankingForm(item, draft, save) {
  const ids = item.outputs.map(({ id }) => id);
  const ties = item.scale.tie_allowed === true;
  draft.ranks ??= {};
  draft.active ??= 0;
  const isWhole = () => ids.every((id) => Object.hasOwn(draft.ranks, id));
  const finish = () => {
    if (!isWhole()) return;
    const ranks = [...new Set(Object.values(draft.ranks))].sort((a, b) => a - b);
    save({ type: 'ranking', order: ranks.map((rank) => ids.filter((id) => draft.ranks[id] === rank)) });
  };
  if (ids.length === 2) {
    const decide = (first, second) => {
      draft.ranks = { [ids[0]]: first, [ids[1]]: second };
      finish();
    };
    const is = (first, second) => draft.ranks[ids[0]] === first && draft.ranks[ids[1]] === second;
    const acts = { ArrowLeft: () => decide(1, 2), ArrowRight: () => decide(2, 1), 1: () => decide(1, 2), 2: () => decide(2, 1) };
    if (ties) acts['='] = () => decide(1, 1);
    return {
      node: el('div', { class: 'rating pair' }, el('div', { class: 'choices', role: 'group', 'aria-label': 'Which is better' },
        choice('←', 'A is better', is(1, 2), acts.ArrowLeft, { 'data-point': 'A' }),
        ties && choice('=', 'A tie', is(1, 1), acts['='], { 'data-point': 'tie' }),
        choice('→', 'B is better', is(2, 1), acts.ArrowRight, { 'data-point': 'B' }))),
      key: (key) => {
        if (!Object.hasOwn(acts, key)) return false;
        acts[key]();
        return true;
      },
    };
  }
  const box = el('div', { class: 'rating ranking' });
  const rank = (at, place) => {
    // Without ties a rank has one output.
    if (!ties) for (const id of ids) if (draft.ranks[id] === place) delete draft.ranks[id];
    draft.ranks[ids[at]] = place;
    const open = ids.findIndex((id) => !Object.hasOwn(draft.ranks, id));
    draft.active = open < 0 ? at : open;
    draw();
    announce(`Output ${LETTERS[at] ?? at + 1}: rank ${place}`);
  };
  const draw = () => box.replaceChildren(
    ...ids.map((id, at) => el('fieldset', { class: `criterion${at === draft.active ? ' active' : ''}` },
      el('legend', {}, `Output ${LETTERS[at] ?? at + 1}`),
      el('div', { class: 'choices' }, ids.map((_, place) => choice(String(place + 1), '', draft.ranks[id] === place + 1, () => rank(at, place + 1)))))),
    el('p', { class: 'soft small' }, `1 is the best. Arrows select an output, numbers rank it.${ties ? ' Equal ranks are ties.' : ''}`),
    el('button', { type: 'button', class: 'save', disabled: !isWhole(), onclick: finish }, 'Save ', keyHint('Enter')));
  draw();
  return {
    node: box,
    key: (key) => {
      if (key === 'Enter') { finish(); return true; }
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
      if (step) {
        draft.active = (draft.active + step + ids.length) % ids.length;
        draw();
        announce(`Output ${LETTERS[draft.active] ?? draft.active + 1}`);
        return true;
      }
      const place = Number(key);
      if (!Number.isInteger(place) || place < 1 || place > ids.length || key.length !== 1) return false;
      rank(draft.active, place);
      return true;
    },
  };
}

/** A rating that was given, in words. */
function ratingWords(rating) {
  if (!rating) return 'withdrawn';
  const likert = () => Object.entries(rating.scores).map(([name, score]) => (name === '' ? String(score) : `${name}: ${score}`)).join(', ');
  const words = { likert, binary: () => (rating.value ? 'pass' : 'fail'), ranking: () => 'ranked', skip: () => 'skipped' };
  return words[rating.type]?.() ?? rating.type;
}

/** The draft from which the form of a rating begins. */
function draftOf(decision) {
  const { rating, comment } = decision ?? {};
  const ranks = {};
  if (rating?.type === 'ranking') rating.order.forEach((group, at) => group.forEach((id) => { ranks[id] = at + 1; }));
  return {
    comment: comment ?? '',
    ...(rating?.type === 'likert' && { scores: { ...rating.scores } }),
    ...(rating?.type === 'binary' && { value: rating.value }),
    ...(rating?.type === 'ranking' && { ranks }),
  };
}
