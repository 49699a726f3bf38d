// Starts the page: header, navigation, theme, and the view that the address names.

const report = block('report') ?? {};

/** The views of this page. */
function knownViews() {
  return [...views].filter(([, view]) => view.kinds.includes(report.kind) && (view.when?.() ?? true));
}

function currentView() {
  const params = parameters(location.hash);
  const known = knownViews();
  const [first] = known;
  const asked = params.case ? 'case' : params.view;
  const found = known.find(([name]) => name === asked) ?? first;
  return { name: found?.[0], view: found?.[1], params };
}

function header() {
  const decision = report.decision;
  const title = el('div', { class: 'title' },
    decision && badge(decision.name, decision.label),
    el('span', { class: 'subject' }, said(report.subject ?? report.suite?.name ?? 'Report')));
  const links = knownViews().filter(([, view]) => view.label);
  const nav = el('nav', { 'aria-label': 'Views' },
    links.length > 1 && links.map(([name, view]) =>
      link({ view: name }, { 'data-view': name }, view.label, view.count ? el('span', { class: 'count' }, grouped(view.count())) : null)));
  return el('header', { class: 'top' }, el('div', { class: 'inner' }, title, nav, themeButton()));
}

function themeButton() {
  const dark = () => {
    const set = document.documentElement.dataset.theme;
    return set ? set === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  };
  const button = el('button', { type: 'button', class: 'theme', id: 'theme' });
  const label = () => {
    const text = dark() ? 'Light theme' : 'Dark theme';
    button.replaceChildren(svg('svg', { viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true' },
      dark()
        ? [svg('circle', { cx: 8, cy: 8, r: 3, class: 'solid' }),
          [0, 45, 90, 135, 180, 225, 270, 315].map((turn) =>
            svg('line', { x1: 8, y1: 1.2, x2: 8, y2: 3, class: 'stroke', transform: `rotate(${turn} 8 8)` }))]
        : svg('path', { d: 'M13.5 10.2A6 6 0 0 1 5.8 2.5a6 6 0 1 0 7.7 7.7z', class: 'solid' })));
    button.setAttribute('aria-label', text);
    button.title = text;
  };
  button.addEventListener('click', () => {
    const theme = dark() ? 'light' : 'dark';
    document.documentElement.dataset.theme = theme;
    // A page from a file may have no memory.
    try { localStorage.setItem('eval-harness-theme', theme); } catch { /* then it forgets */ }
    label();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', label);
  label();
  return button;
}

function recallTheme() {
  try {
    const theme = localStorage.getItem('eval-harness-theme');
    if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
  } catch {
    // No memory.
  }
}

let shown = null;

function draw() {
  const { name, view, params } = currentView();
  const main = document.getElementById('main');
  // A view that can take new parameters as it is keeps its place and focus.
  if (shown?.name === name && shown.view.update?.(params)) return;
  shown = { name, view };
  main.replaceChildren();
  main.dataset.view = name ?? '';
  for (const item of document.querySelectorAll('header.top nav a')) {
    const current = item.dataset.view === name || (name === 'case' && item.dataset.view === 'cases');
    current ? item.setAttribute('aria-current', 'page') : item.removeAttribute('aria-current');
  }
  try {
    view?.draw(main, params);
  } catch (fault) {
    tellFault(main, fault);
  }
  scrollTo(0, 0);
}

/** What can't be drawn says so: nobody is to take an empty page for a run without failures. */
function tellFault(place, fault) {
  console.error(fault);
  place.replaceChildren(
    el('h1', {}, 'This page could not be drawn'),
    el('p', {}, 'Its data is not valid: ', said(fault?.message ?? fault), '. The Markdown report also has the figures.'));
}

function navigate() {
  draw();
  const heading = document.querySelector('#main h1');
  if (heading) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

function start() {
  recallTheme();
  const app = document.getElementById('app');
  app.append(
    el('a', { href: '#main', class: 'skip', onclick: (event) => { event.preventDefault(); document.getElementById('main').focus(); } }, 'Skip to the content'),
    header(),
    el('main', { id: 'main', tabindex: '-1' }),
    el('footer', { class: 'foot' }, `Written by eval-harness${report.harness_version ? ` ${report.harness_version}` : ''}`),
    el('div', { id: 'announcer', class: 'away', role: 'status', 'aria-live': 'polite' }));
  addEventListener('hashchange', navigate);
  draw();
  document.documentElement.dataset.ready = 'true';
}

try {
  start();
} catch (fault) {
  tellFault(document.getElementById('app'), fault);
}
