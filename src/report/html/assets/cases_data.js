// The cases of a run: their columns, what fits filters, and the order of what fits. Rows are numbers, in the plan's order.

const OUTCOMES_BY_URGENCY = ['failed', 'errored', 'pending', 'skipped', 'passed'];
/** Filters other than the outcome's and the search, in the order of the page. */
const CASE_FILTERS = ['eval', 'type', 'category', 'tag', 'cause'];

/** Kinds of cases that are filters of their own: parameter, title, and which rows they are. */
const CASE_KINDS = [
  ['flaky', 'Flaky', (row) => casesData().columns.flaky[row] === 1],
  ['mixed', 'Some samples failed', isMixed],
];

/** True when some of a case's samples passed and others failed or could not be graded. */
function isMixed(row) {
  return casesData().columns.mixed[row] === 1;
}

let casesKept = null;

/** The columns, with what filters ask for worked out once. */
function casesData() {
  if (casesKept) return casesKept;
  const columns = block('cases') ?? { id: [], evals: [], total: 0, left_out: [] };
  const n = columns.id.length;
  const rows = Array.from({ length: n }, (_, row) => row);
  const evalOf = (row) => columns.evals[columns.eval[row]];
  const categoryOf = (row) => columns.categories[evalOf(row).category] ?? null;
  const tagsOf = (row) => [...new Set([...evalOf(row).tags, ...columns.tag[row]])].map((tag) => columns.tags[tag]);
  const causeOf = (row) => columns.causes[columns.cause[row]] ?? null;
  const places = new Map(rows.map((row) => [JSON.stringify([evalOf(row).id, columns.id[row]]), row]));
  casesKept = {
    columns, n, rows, evalOf, categoryOf, tagsOf, causeOf,
    rowOf: (evalId, caseId) => places.get(JSON.stringify([evalId, caseId ?? evalId])),
    // What a filter sees of a row: one name, or several.
    seen: {
      eval: (row) => evalOf(row).id, type: (row) => evalOf(row).type, category: categoryOf, tag: tagsOf, cause: causeOf,
    },
    haystacks: null,
    orders: new Map(),
  };
  return casesKept;
}

function caseHaystacks() {
  const data = casesData();
  const { columns } = data;
  data.haystacks ??= data.rows.map((row) => {
    const { id, name } = data.evalOf(row);
    return [id, name, columns.id[row], columns.name[row], columns.reason[row], data.causeOf(row)].join('\n').toLowerCase();
  });
  return data.haystacks;
}

/** The names that a filter may ask for, with the number of cases that have each. */
function caseNames(filter) {
  const data = casesData();
  const counts = new Map();
  for (const row of data.rows) {
    const seen = data.seen[filter](row);
    for (const name of Array.isArray(seen) ? seen : [seen]) {
      if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

/** The rows that fit, in order; and how many of each outcome fit everything but the filter of outcomes. */
function casesThatFit(state) {
  const data = casesData();
  const { columns } = data;
  const words = (state.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const haystacks = words.length > 0 ? caseHaystacks() : [];
  const asked = CASE_FILTERS.filter((filter) => state[filter]);
  const outcomes = new Set((state.outcome ?? '').split(',').filter(Boolean));
  const counts = Object.fromEntries(OUTCOMES_BY_URGENCY.map((outcome) => [outcome, 0]));
  const fits = (row) =>
    CASE_KINDS.every(([name, , is]) => !state[name] || is(row)) &&
    asked.every((filter) => {
      const seen = data.seen[filter](row);
      return Array.isArray(seen) ? seen.includes(state[filter]) : seen === state[filter];
    }) &&
    words.every((word) => haystacks[row].includes(word));
  const found = [];
  for (const row of caseOrder(state.sort)) {
    if (!fits(row)) continue;
    counts[columns.outcome[row]] += 1;
    if (outcomes.size === 0 || outcomes.has(columns.outcome[row])) found.push(row);
  }
  return { found, counts };
}

/** All rows by outcome: failed in all samples before failed in some, passed in some before passed in all, each in the plan's order (`plan`: all of them); or by a
 * column (`score`, or `-score` from the greatest), those without a value last. */
function caseOrder(sort) {
  const data = casesData();
  if (!sort) {
    const inPart = (row) => isMixed(row) || data.columns.flaky[row] === 1;
    const later = (row) => inPart(row) !== (data.columns.outcome[row] === 'passed');
    const urgency = (row) => 2 * OUTCOMES_BY_URGENCY.indexOf(data.columns.outcome[row]) + (later(row) ? 1 : 0);
    if (!data.orders.has('')) data.orders.set('', [...data.rows].sort((a, b) => urgency(a) - urgency(b) || a - b));
    return data.orders.get('');
  }
  const down = sort?.startsWith('-') ?? false;
  const column = CASE_COLUMNS.find(({ name }) => name === (down ? sort.slice(1) : sort));
  if (!column) return data.rows;
  let order = data.orders.get(sort);
  if (!order) {
    const keys = data.rows.map((row) => column.key(row));
    const known = data.rows.filter((row) => keys[row] !== null && keys[row] !== undefined && keys[row] !== '');
    const unknown = data.rows.filter((row) => keys[row] === null || keys[row] === undefined || keys[row] === '');
    const { compare } = new Intl.Collator('en', { numeric: true });
    const sign = down ? -1 : 1;
    known.sort((a, b) => sign * (typeof keys[a] === 'string' ? compare(keys[a], keys[b]) : keys[a] - keys[b]) || a - b);
    order = [...known, ...unknown];
    data.orders.set(sort, order);
  }
  return order;
}

/** The columns of the table; `key` is what they are sorted by. */
const CASE_COLUMNS = [
  { name: 'outcome', title: 'Outcome', width: '6.2rem', key: (row) => OUTCOMES_BY_URGENCY.indexOf(casesData().columns.outcome[row]) },
  { name: 'case', title: 'Case', width: 'minmax(9rem, 5fr)', key: (row) => `${casesData().evalOf(row).id} ${casesData().columns.id[row]}` },
  { name: 'output', title: 'Output', optional: true, width: 'minmax(7rem, 4fr)', key: (row) => casesData().columns.output[row] },
  { name: 'cause', title: 'Cause and reason', width: 'minmax(8rem, 5fr)', key: (row) => `${casesData().causeOf(row) ?? ''} ${casesData().columns.reason[row]}`.trim() },
  { name: 'score', title: 'Score', number: true, width: '3.6rem', key: (row) => casesData().columns.score[row], text: (row) => casesData().columns.score_text[row] },
  { name: 'samples', title: 'Samples', number: true, width: '4.5rem',
    key: (row) => { const { passed, graded } = casesData().columns; return graded[row] > 0 ? passed[row] / graded[row] : null; },
    text: (row) => { const { passed, graded } = casesData().columns; return graded[row] > 0 ? `${passed[row]}/${graded[row]}` : ''; } },
  { name: 'latency', title: 'Latency', number: true, optional: true, width: '4.4rem', key: (row) => casesData().columns.latency[row], text: (row) => casesData().columns.latency_text[row] },
  { name: 'tokens', title: 'Tokens', number: true, optional: true, width: '4.1rem', key: (row) => casesData().columns.tokens[row], text: (row) => casesData().columns.tokens_text[row] },
  { name: 'cost', title: 'Cost', number: true, optional: true, width: '5rem', key: (row) => casesData().columns.cost[row], text: (row) => casesData().columns.cost_text[row] },
];
