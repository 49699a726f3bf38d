// Where items come from and where decisions go: a server, or this page itself. Both have the same four calls.

/** A refusal, with its status; without one when there was no answer. */
class SourceError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

function servedSource() {
  const token = bearerToken();
  const call = async (method, path, body) => {
    const headers = {};
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const text = body === undefined ? undefined : JSON.stringify(body);
    let response;
    try {
      // A page that is closed still sends what was decided, unless it is too long for that.
      response = await fetch(path, { method, headers, body: text, keepalive: method === 'POST' && text.length < 15_000 });
    } catch {
      throw new SourceError('The server does not answer. Start it again, or save the decisions as a file.');
    }
    const answer = await response.json().catch(() => null);
    if (!response.ok) throw new SourceError(answer?.message ?? `The server answered with status ${response.status}.`, response.status);
    return answer;
  };
  return {
    session: () => call('GET', '/api/session'),
    item: (index) => call('GET', `/api/items/${index}`),
    rate: (index, decision) => call('POST', `/api/items/${index}/rating`, decision),
    undo: () => call('POST', '/api/undo', {}),
  };
}

/** The token of the link, which leaves the address; kept until the tab is closed. */
function bearerToken() {
  const name = 'eval-harness-review-token';
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  try {
    if (given) {
      sessionStorage.setItem(name, given);
      history.replaceState(null, '', location.pathname);
    }
    return given ?? sessionStorage.getItem(name);
  } catch {
    // No memory: the address keeps it.
    return given;
  }
}

/** Items in the page. Decisions stay in the page and in the browser's storage until they are saved as a file. */
function offlineSource(page) {
  const name = `eval-harness-review-${page.session.id}`;
  const decisions = recalled(name);
  const keep = () => {
    try {
      localStorage.setItem(name, JSON.stringify([...decisions]));
    } catch {
      // Pages from files may have no memory; the button that saves a file is on the page.
    }
  };
  const progress = () => {
    const all = [...decisions.values()];
    const seconds = all.reduce((sum, one) => sum + one.seconds, 0);
    const skipped = all.filter(({ rating }) => rating.type === 'skip').length;
    return { total: page.session.items, done: all.length, skipped, mean_seconds: all.length > 0 ? seconds / all.length : null };
  };
  return {
    session: async () => ({ ...page.session, progress: progress(), decided: [...decisions.keys()] }),
    item: async (index) => ({ ...page.items[index], decision: decisions.get(index) ?? null }),
    rate: async (index, decision) => {
      // Moved to the end: the newest is the first to be undone.
      decisions.delete(index);
      decisions.set(index, { ...decision, id: randomId(), at: new Date().toISOString() });
      keep();
      return { progress: progress() };
    },
    undo: async () => {
      const last = [...decisions.keys()].at(-1) ?? null;
      if (last !== null) decisions.delete(last);
      keep();
      return { index: last, progress: progress() };
    },
    file: (reviewer) => decisionFile(page.session, reviewer, [...decisions].map(([index, decision]) => filed(page.items[index], decision))),
  };
}

/** What `eval-harness review --import` reads. */
function decisionFile(session, reviewer, decisions) {
  return { version: 1, review: session.review, reviewer, decisions };
}

/** A decision with the item that it is on, as that was shown. */
function filed(item, decision) {
  return {
    key: item.key, id: randomId(), at: new Date().toISOString(), ...decision, blind: item.blind, adjudicates: item.adjudication === true,
    shown: item.outputs.length > 1 ? item.outputs.map(({ id }) => id) : [],
  };
}

function recalled(name) {
  try {
    return new Map(JSON.parse(localStorage.getItem(name) ?? '[]'));
  } catch {
    return new Map();
  }
}

function randomId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Saves a value as a JSON file. */
function download(value, name) {
  const address = URL.createObjectURL(new Blob([`${JSON.stringify(value, null, 1)}\n`], { type: 'application/json' }));
  const anchor = document.createElement('a');
  anchor.setAttribute('href', address);
  anchor.setAttribute('download', name);
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
