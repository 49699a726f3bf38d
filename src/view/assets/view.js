// Follows what goes on. Texts enter the page as text nodes only.

const app = document.getElementById('app');

function node(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function announce(text) {
  document.getElementById('announcer').textContent = text;
}

/** A sample that ended, as a line that leads to its case. */
function ended(sample) {
  const badge = node('span', { class: `badge tone-${sample.outcome}` }, sample.outcome);
  const link = node('a', { href: `${location.pathname}/cases/${Number(sample.at)}` }, node('bdi', {}, sample.name));
  const line = node('li', { class: 'ended' }, node('span', {}, badge), link);
  if (sample.reason) line.append(node('span', { class: 'soft small' }, node('bdi', {}, sample.reason)));
  return line;
}

/** Draws a run that goes on. */
function drawRun(state) {
  const place = (name) => document.querySelector(`[data-live="${name}"]`);
  const bar = place('bar');
  bar.max = Math.max(1, state.planned);
  bar.value = state.done;
  place('words').textContent = state.words;
  place('rate').textContent = state.rate;
  place('outcomes').replaceChildren(...state.outcomes.map(([name, count]) =>
    node('li', { class: `badge tone-${name}` }, `${count} ${name}`)));
  for (const name of ['newest', 'unpassed']) {
    place(name).replaceChildren(...state[name].map(ended));
    place(`no-${name}`).hidden = state[name].length > 0;
  }
}

/** Shows how far runs of the list are. */
function drawRuns(words) {
  for (const [run, text] of Object.entries(words)) {
    const row = [...document.querySelectorAll('[data-run]')].find((one) => one.dataset.run === run);
    if (row) row.textContent = text;
  }
}

/** Loads the page again, unless a form of it is in use. */
function renew() {
  const busy = document.querySelector('input:checked[form]') || document.activeElement?.closest('form');
  if (!busy) {
    location.reload();
    return;
  }
  const note = document.querySelector('[data-live="changed"]');
  if (note?.hidden) {
    note.hidden = false;
    announce(note.textContent);
  }
}

function follow(address) {
  // Browsers open few connections to one server, so hidden tabs have none.
  const events = document.hidden ? null : new EventSource(address);
  document.addEventListener('visibilitychange', () => {
    events?.close();
    follow(address);
  }, { once: true });
  if (!events) return;
  events.addEventListener('run', (event) => drawRun(JSON.parse(event.data)));
  events.addEventListener('runs', (event) => drawRuns(JSON.parse(event.data)));
  events.addEventListener('changed', renew);
  events.addEventListener('ended', () => {
    events.close();
    announce('The run has ended.');
    location.reload();
  });
}

keepTheme();
if (app.dataset.events) follow(app.dataset.events);
document.documentElement.dataset.ready = 'true';
