// Charts as inline SVG. Places along an axis are percentages and texts are HTML beside the shapes, so that a chart takes the width
// it is given and its words stay readable. Every chart is a figure with a caption; its numbers stand beside the shapes or in a
// folded table. Numbers that people read come as texts; `value`, `low`, `high`, `at` only say where to draw.

/** The place of a value on an axis, as a percentage that stays on it. */
function placeOn(value, min, max) {
  const share = max > min ? (value - min) / (max - min) : 0.5;
  return `${(Math.min(1, Math.max(0, share)) * 100).toFixed(3)}%`;
}

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

/** The figure around a chart. `caption` is what is seen, `label` what is said of the shapes. */
function chartFigure(kind, { label, caption, note }, ...children) {
  return el('figure', { class: `chart chart-${kind}` },
    el('figcaption', {}, caption ?? label, note && el('span', { class: 'soft small' }, ` ${note}`)),
    children);
}

/** The shapes of a chart; to those who can't see them they are one picture with a name. */
function picture(label, attributes, ...shapes) {
  return svg('svg', { role: 'img', 'aria-label': label, width: '100%', ...attributes }, ...shapes);
}

/** What a chart shows, as a folded table. */
function numbersOf(label, columns, rows) {
  return el('details', { class: 'numbers' }, el('summary', {}, 'Numbers'), table(`${label}: numbers`, columns, rows));
}

const tip = (text) => text && svg('title', {}, text);

/**
 * Points with their intervals on one axis, a row each:
 * {label, caption?, note?, rows: [{name, href?, value, low, high, text, detail?, said?, tone?, note?, range?, marks?: [{at, title}]}], min, max,
 * ticks: [{at, text}], zero?: a place with a stronger line, shown?: rows before the rest is folded}. `range` of a row is a pale band
 * behind it, [worst, best]; `detail` stands behind `text`. A row without a value says so by its text. Where `name` or `text` are nodes, `said` has the words.
 */
function intervalChart({ label, caption, note, rows, min, max, ticks = [], zero = null, shown = 20 }) {
  const at = (value) => placeOn(value, min, max);
  const upright = (value, kind) => svg('line', { class: kind, x1: at(value), x2: at(value), y1: 0, y2: '100%' });
  const row = ({ name, href, value, low, high, text, detail, said: words_, tone, note: remark, range, marks = [] }) => {
    const said_ = typeof name === 'string' ? said(name) : name;
    const words = [typeof name === 'string' ? name : name?.textContent, words_ ?? [text, detail].filter(Boolean).join(' '), ...marks.map((mark) => mark.title)].filter(Boolean);
    return el('li', { class: `interval-row tone-${tone ?? 'info'}` },
      el('span', { class: 'name' }, href ? el('a', { href }, said_) : said_, remark && el('span', { class: 'soft small remark' }, remark)),
      el('span', { class: 'plot' }, picture(words.join(', '), { height: '100%' },
        ticks.map((tick) => upright(tick.at, 'grid')),
        isNumber(zero) && upright(zero, 'zero'),
        // Heights count from the middle of the row, however high it is.
        svg('svg', { y: '50%', height: 1, overflow: 'visible' },
          range && svg('rect', { class: 'open', x: at(range[0]), width: `${Number.parseFloat(at(range[1])) - Number.parseFloat(at(range[0]))}%`, y: -7, height: 14 }),
          isNumber(low) && isNumber(high) && svg('g', { class: 'interval' },
            svg('line', { x1: at(low), x2: at(high), y1: 0, y2: 0 }),
            [low, high].map((end) => svg('line', { x1: at(end), x2: at(end), y1: -4, y2: 4 }))),
          marks.map((mark) => svg('g', { class: 'limit' }, tip(mark.title),
            svg('line', { x1: at(mark.at), x2: at(mark.at), y1: -11, y2: 11 }))),
          isNumber(value) && svg('circle', { class: 'point', cx: at(value), cy: 0, r: 4.5 }, tip(words.join(', ')))))),
      el('span', { class: 'text' }, text),
      detail && el('span', { class: 'detail soft' }, detail));
  };
  const axis = () => ticks.length > 0 && el('li', { class: 'axis', 'aria-hidden': 'true' },
    el('span', { class: 'ticks' }, ticks.map((tick) => tickMark(at(tick.at), tick.text))));
  const list = (part) => el('ul', { class: 'interval-rows' }, part.map(row), axis());
  const rest = rows.slice(shown);
  return chartFigure('interval', { label, caption, note }, list(rows.slice(0, shown)),
    rest.length > 0 && el('details', {}, el('summary', {}, `and ${grouped(rest.length)} more`), list(rest)));
}

/** A word under an axis; those at its ends keep within it. */
function tickMark(place, text) {
  const share = Number.parseFloat(place);
  const edge = share < 4 ? 'first' : share > 96 ? 'last' : 'within';
  return el('span', { class: `tick ${edge}`, variables: { '--at': place } }, text);
}

/**
 * How many lie where: {label, caption?, note?, bins: [{from, to, count, tone?, text?}], ticks?: [{at, text}], columns?: [of bins, of counts]}.
 * Bins are as wide as each other; `at` of a tick counts edges of bins from 0. `text` names a bin.
 */
function histogram({ label, caption, note, bins, ticks = [], columns = ['Range', 'Count'], limit = null }) {
  const most = Math.max(1, ...bins.map((bin) => bin.count));
  const wide = 100 / bins.length;
  const name = (bin) => bin.text ?? `${bin.from} to ${bin.to}`;
  const bars = bins.map((bin, n) => {
    const high = Math.max((bin.count / most) * 100, 1.5);
    return bin.count > 0 && svg('g', { class: `tone-${bin.tone ?? 'info'}` }, tip(`${name(bin)}: ${grouped(bin.count)}`),
      svg('rect', { class: 'bar', x: `${n * wide + wide * 0.06}%`, width: `${wide * 0.88}%`, y: `${100 - high}%`, height: `${high}%` }));
  });
  const labels = bins.length <= 12 && bins.map((bin, n) =>
    bin.count > 0 && el('span', { class: 'count', variables: { '--at': `${(n + 0.5) * wide}%`, '--up': `${(bin.count / most) * 100}%` } }, grouped(bin.count)));
  const total = bins.reduce((sum, bin) => sum + bin.count, 0);
  return chartFigure('histogram', { label, caption, note },
    el('div', { class: 'area' },
      picture(`${label}: ${grouped(total)} in ${bins.length} bins; the fullest, ${name(bins.find((bin) => bin.count === most) ?? bins[0] ?? {})}, has ${grouped(most)}`,
        { class: 'plot', height: '100%' }, bars,
        limit && svg('line', { class: 'limit', x1: `${limit.at * wide}%`, x2: `${limit.at * wide}%`, y1: 0, y2: '100%' }, tip(limit.title)),
        svg('line', { class: 'floor', x1: 0, x2: '100%', y1: '100%', y2: '100%' })),
      el('div', { class: 'labels', 'aria-hidden': 'true' }, labels)),
    el('div', { class: 'ticks', 'aria-hidden': 'true' }, ticks.map((tick) => tickMark(`${(tick.at * wide).toFixed(3)}%`, tick.text))),
    numbersOf(label, [{ title: columns[0] }, { title: columns[1], number: true }], bins.map((bin) => [name(bin), grouped(bin.count)])));
}

/**
 * Lines over counts such as k: {label, caption?, note?, series: [{name, points: [{x, value, low, high, text}]}], min = 0, max = 1,
 * ticks?: [{at, text}] of the upright axis, x?: name of the other}. Points without a value are not drawn, the table has them.
 */
function curve({ label, caption, note, series, min = 0, max = 1, ticks = [{ at: 0, text: '0' }, { at: 0.5, text: '0.5' }, { at: 1, text: '1' }], x = 'k' }) {
  const xs = [...new Set(series.flatMap((line) => line.points.map((point) => point.x)))].sort((a, b) => a - b);
  // Counts such as 1, 3, 10, 100 are set side by side: what matters is what comes next.
  const across = (value) => `${(((xs.indexOf(value) + 0.5) / xs.length) * 100).toFixed(3)}%`;
  const up = (value) => `${100 - Number.parseFloat(placeOn(value, min, max))}%`;
  const line = ({ points }, n) => {
    const drawn = points.filter((point) => isNumber(point.value));
    // Beside each other, so that points in one place are all seen.
    const aside = (n - (series.length - 1) / 2) * 7;
    return svg('g', { class: `series series-${n % 4}`, transform: `translate(${aside} 0)` },
      drawn.slice(1).map((point, before) =>
        svg('line', { class: 'stroke', x1: across(drawn[before].x), y1: up(drawn[before].value), x2: across(point.x), y2: up(point.value) })),
      drawn.map((point) => [
        isNumber(point.low) && isNumber(point.high) &&
          svg('line', { class: 'whisker', x1: across(point.x), x2: across(point.x), y1: up(point.low), y2: up(point.high) }),
        svg('circle', { class: 'dot', cx: across(point.x), cy: up(point.value), r: 4 }, tip(point.text)),
      ]));
  };
  const sample = (n) => svg('svg', { width: 30, height: 12, 'aria-hidden': 'true' }, svg('g', { class: `series series-${n % 4}` },
    svg('line', { class: 'stroke', x1: 1, x2: 29, y1: 6, y2: 6 }), svg('circle', { class: 'dot', cx: 15, cy: 6, r: 4 })));
  const said_ = series.map((one) => `${one.name}: ${one.points.map((point) => point.text).join('; ')}`).join('. ');
  return chartFigure('curve', { label, caption, note },
    el('ul', { class: 'legend' }, series.map((one, n) => el('li', {}, sample(n), one.name))),
    el('div', { class: 'framed' },
      el('div', { class: 'upright', 'aria-hidden': 'true' }, ticks.map((tick) => el('span', { class: 'tick', variables: { '--at': up(tick.at) } }, tick.text))),
      el('div', { class: 'area' }, picture(`${label}. ${said_}`, { class: 'plot', height: '100%' },
        ticks.map((tick) => svg('line', { class: 'grid', x1: 0, x2: '100%', y1: up(tick.at), y2: up(tick.at) })),
        series.map(line))),
      el('div', { class: 'ticks', 'aria-hidden': 'true' }, xs.map((value) => tickMark(across(value), `${x} = ${value}`)))),
    numbersOf(label, [{ title: x }, ...series.map((one) => ({ title: one.name, number: true }))],
      xs.map((value) => [String(value), ...series.map((one) => one.points.find((point) => point.x === value)?.text ?? '')])));
}

/** Counts as bars, a row each: {label, caption?, note?, rows: [{name, href?, count, text?, tone?}], shown?: rows before the rest is folded}. */
function bars({ label, caption, note, rows, shown = 20 }) {
  const most = Math.max(1, ...rows.map((row) => row.count));
  const row = ({ name, href, count, text, tone }) => el('li', { class: `interval-row tone-${tone ?? 'info'}` },
    el('span', { class: 'name' }, href ? el('a', { href }, said(name)) : said(name)),
    el('span', { class: 'plot' }, picture(`${name}: ${text ?? grouped(count)}`, { height: '100%' },
      svg('rect', { class: 'bar', x: 0, y: '25%', height: '50%', rx: 2, width: `${Math.max((count / most) * 100, 0.6)}%` }))),
    el('span', { class: 'text' }, text ?? grouped(count)));
  const rest = rows.slice(shown);
  return chartFigure('bars', { label, caption, note }, el('ul', { class: 'interval-rows' }, rows.slice(0, shown).map(row)),
    rest.length > 0 && el('details', {}, el('summary', {}, `and ${grouped(rest.length)} more`), el('ul', { class: 'interval-rows' }, rest.map(row))));
}

/**
 * A line of shares through time, the newest to the right: {label, caption?, note?, points: [{text, value, tone, title, cells?: of the table}],
 * min = 0, max = 1, ends?: their texts}.
 */
function sparkline({ label, caption, note, points, min = 0, max = 1, ends = ['0 %', '100 %'], columns = [{ title: 'Run' }, { title: 'Figure', number: true }] }) {
  const across = (n) => `${(points.length > 1 ? 2 + (n / (points.length - 1)) * 96 : 50).toFixed(3)}%`;
  const up = (value) => `${(94 - Number.parseFloat(placeOn(value, min, max)) * 0.88).toFixed(3)}%`;
  const known = points.map((point, n) => ({ ...point, n })).filter((point) => isNumber(point.value));
  const last = known.at(-1);
  return chartFigure('spark', { label, caption, note },
    el('div', { class: 'framed' },
      el('div', { class: 'upright', 'aria-hidden': 'true' }, ends.map((text, n) => el('span', { class: 'tick', variables: { '--at': n === 0 ? up(min) : up(max) } }, text))),
      el('div', { class: 'area' }, picture(`${label}: ${points.length} points${last ? `, the last ${last.text}` : ''}`, { class: 'plot', height: '100%' },
        [min, max].map((end) => svg('line', { class: 'grid', x1: 0, x2: '100%', y1: up(end), y2: up(end) })),
        known.slice(1).map((point, before) => svg('line', { class: 'stroke', x1: across(known[before].n), y1: up(known[before].value), x2: across(point.n), y2: up(point.value) })),
        known.map((point) => svg('g', { class: `tone-${point.tone ?? 'info'}` }, tip(`${point.title}: ${point.text}`),
          svg('circle', { class: point === last ? 'dot last' : 'dot', cx: across(point.n), cy: up(point.value), r: point === last ? 5 : 3.5 })))))),
    numbersOf(label, columns, points.map((point) => point.cells ?? [said(point.title), point.text])));
}

/** The signs of outcomes and decisions, beside their colours. */
const SIGNS = { passed: '✓', pass: '✓', failed: '✗', fail: '✗', errored: '!', incomplete: '!', skipped: '–', undecided: '–', pending: '?' };

/** Parts of a whole: {label, caption?, parts: [{tone, name, count, href?}], plain?: without the legend}. Parts of nothing are left out. */
function stackedBar({ label, caption, note, parts, plain = false }) {
  const some = parts.filter((part) => part.count > 0);
  const total = some.reduce((sum, part) => sum + part.count, 0);
  // A part that is there is seen, however small.
  const least = 0.008;
  const shares = some.map((part) => Math.max(part.count / total, least));
  const whole = shares.reduce((sum, share) => sum + share, 0);
  let from = 0;
  const bars = some.map((part, n) => {
    const wide = (shares[n] / whole) * 100;
    const bar = svg('g', { class: `tone-${part.tone}` }, tip(`${part.name}: ${grouped(part.count)}`),
      svg('rect', { class: 'bar', x: `${from}%`, width: `${wide}%`, y: 0, height: '100%' }),
      n > 0 && svg('line', { class: 'cut', x1: `${from}%`, x2: `${from}%`, y1: 0, y2: '100%' }));
    from += wide;
    return bar;
  });
  const words = some.map((part) => `${grouped(part.count)} ${part.name}`).join(', ');
  const shape = picture(`${label}: ${words || 'none'}`, { class: 'plot', height: plain ? 8 : 16 }, bars);
  if (plain) return el('span', { class: 'chart-stacked bare' }, shape);
  return chartFigure('stacked', { label, caption, note }, shape, el('ul', { class: 'legend' }, some.map((part) => {
    const text = [el('span', { class: `sign tone-${part.tone}`, 'aria-hidden': 'true' }, SIGNS[part.tone] ?? ''), el('strong', {}, grouped(part.count)), ` ${part.name}`];
    return el('li', {}, part.href ? el('a', { href: part.href }, text) : text);
  })));
}
