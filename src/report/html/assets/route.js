// Where in the page one is stands in the fragment of its address, so that every view can be linked to and gone back to:
// `#view=cases&outcome=failed`, `#case=EVAL/CASE`. Parameters of the table of cases: outcome, type, category, tag, cause,
// eval, flaky, mixed, q, sort.

/** Views by name: {label?, kinds, when?: whether this page has it, count?, draw(main, params)}; those with a label stand in the navigation. */
const views = new Map();

/** The fragment of parameters: an object of texts; empty ones are left out. A case is a pair [eval, case]. */
function address(params) {
  const parts = [];
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === '' || value === false) continue;
    const text = Array.isArray(value) ? value.map(encodeURIComponent).join('/') : encodeURIComponent(value === true ? '1' : value);
    parts.push(`${encodeURIComponent(name)}=${text}`);
  }
  return `#${parts.join('&')}`;
}

/** The parameters of an address; what can't be read is left out. */
function parameters(fragment) {
  const params = {};
  for (const part of fragment.replace(/^#/, '').split('&')) {
    const at = part.indexOf('=');
    if (at < 1) continue;
    try {
      const name = decodeURIComponent(part.slice(0, at));
      const value = part.slice(at + 1);
      params[name] = name === 'case' ? value.split('/').map(decodeURIComponent) : decodeURIComponent(value);
    } catch {
      // Not an address of ours.
    }
  }
  return params;
}

/** Goes to another view; with `replace` the way back does not lead here. */
function go(params, { replace = false } = {}) {
  const fragment = address(params);
  if (replace) {
    history.replaceState(null, '', fragment);
  } else {
    location.hash = fragment;
  }
}

