// What can be done on a page and asked of it. Each step: (tab, wanted, {axe, context, url}) -> its result.

const first = (tab, selector) => tab.locator(selector).first();

export const steps = {
  click: (tab, selector) => first(tab, selector).click(),
  hover: (tab, selector) => first(tab, selector).hover(),
  focus: (tab, selector) => first(tab, selector).focus(),
  /** [selector, text]: what was in the field goes. */
  type: async (tab, [selector, text]) => {
    await first(tab, selector).fill('');
    await first(tab, selector).pressSequentially(text);
  },
  choose: (tab, [selector, value]) => first(tab, selector).selectOption(value),
  press: (tab, key) => tab.keyboard.press(key),
  back: (tab) => tab.goBack(),
  forward: (tab) => tab.goForward(),
  /** The page of a case, by a link: [eval, case]. */
  open: async (tab, ids) => steps.go(tab, `#case=${ids.map(encodeURIComponent).join('/')}`),
  /** Another address within the page. */
  go: async (tab, fragment) => {
    await tab.evaluate((to) => { location.hash = to; }, fragment);
    await steps.settle(tab);
  },
  /** Another page of the same server. */
  visit: async (tab, address) => {
    await tab.goto(new URL(address, tab.url()).href);
    await tab.waitForSelector('html[data-ready]', { state: 'attached' });
  },
  address: (tab) => tab.evaluate(() => location.pathname + location.search),
  reload: async (tab) => {
    await tab.reload();
    await tab.waitForSelector('html[data-ready]', { state: 'attached' });
  },
  wait: (tab, selector) => tab.waitForSelector(selector).then(() => null),
  gone: (tab, selector) => tab.waitForSelector(selector, { state: 'detached' }).then(() => null),
  /** Until an expression holds. */
  until: (tab, expression) => poll(tab, expression),
  /** Two frames: what an event changed is on the screen. */
  settle: (tab) => tab.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => done(null))); })),
  media: (tab, media) => tab.emulateMedia({ media }),
  size: (tab, [width, height]) => tab.setViewportSize({ width, height }),
  grant: (tab, permissions, { context }) => context.grantPermissions(permissions),

  text: (tab, selector) => first(tab, selector).innerText(),
  texts: (tab, selector) => tab.locator(selector).allInnerTexts(),
  content: (tab, selector) => first(tab, selector).evaluate((node) => node.textContent),
  attribute: (tab, [selector, name]) => first(tab, selector).getAttribute(name),
  value: (tab, selector) => first(tab, selector).inputValue(),
  count: (tab, selector) => tab.locator(selector).count(),
  visible: (tab, selector) => first(tab, selector).isVisible(),
  fragment: (tab) => tab.evaluate(() => location.hash),
  focused: (tab) => tab.evaluate(() => {
    const node = document.activeElement;
    return node && `${node.localName}${node.id ? `#${node.id}` : ''} ${node.textContent.slice(0, 80)}`.trim();
  }),
  /** An expression in the page; the debugger may, whatever the policy says. */
  evaluate: (tab, expression) => tab.evaluate(expression),
  clipboard: (tab) => tab.evaluate(() => navigator.clipboard.readText()),

  /** [selector, texts]: how often each is shown there. White space and characters that show nothing don't count, nor their marks. */
  shows: (tab, [selector, texts]) => tab.evaluate(([selector, texts]) => {
    const plain = (text) => text.replaceAll(/⟨?U\+[0-9A-F]{4,6}⟩?|[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Zl}\p{Zp}\s]/gu, '');
    const page = plain([...document.querySelectorAll(selector)].map((node) => node.textContent).join(' '));
    return texts.map((text) => page.split(plain(text)).length - 1);
  }, [selector, texts]),

  /** Elements, attributes and addresses that a page of ours never has; and whether its own are what they were. */
  strangers: (tab, kind) => tab.evaluate((isServed) => {
    const found = [];
    const say = (node) => found.push(node.cloneNode(false).outerHTML.slice(0, 200));
    const ours = ['HTML', 'HEAD', 'BODY', 'META', 'TITLE', 'STYLE', 'SCRIPT', 'NOSCRIPT'];
    document.querySelectorAll('iframe, frame, object, embed, img, video, audio, source, link, base, form, template, portal, math, foreignObject, animate, set, image')
      .forEach((node) => { if (!(isServed && node.matches('#main form[method="get"][action^="/"]'))) say(node); });
    for (const node of document.querySelectorAll('*')) {
      const outside = !node.closest('#app, nav.around');
      if (outside && !ours.includes(node.nodeName) && node.id !== 'app') say(node);
      if (!outside && ['SCRIPT', 'STYLE', 'META', 'TITLE'].includes(node.nodeName)) say(node);
      for (const { name, value } of node.attributes) {
        const address = ['href', 'src', 'srcset', 'action', 'formaction', 'data', 'xlink:href', 'poster', 'background', 'ping'].includes(name);
        // The page of a run in a file near this one: no scheme, no host, no root.
        const near = name === 'href' && /^(?:\.\.\/)*(?:[\w.~%-]+\/)*[\w.~%-]+\.html(?:#\S*)?$/.test(value);
        // A page of the server that shows this one.
        const served = isServed && ['href', 'action'].includes(name) && /^\/(?!\/)/.test(value);
        if (name.startsWith('on') || name === 'srcdoc' || (address && !value.startsWith('#') && !near && !served)) say(node);
      }
    }
    if (document.querySelectorAll('meta[http-equiv]').length !== 1) found.push('not one policy');
    const interactive = document.querySelector('#report') || (document.querySelector('script') && !isServed) ? ['report', 'announcer', 'theme'] : [];
    for (const id of ['app', 'main', ...interactive]) {
      if (document.querySelectorAll(`[id="${id}"]`).length !== 1) found.push(`not one #${id}`);
    }
    for (const name of ['getAttribute', 'textContent', 'attributes']) {
      if (Object.hasOwn(document.getElementById('app'), name)) found.push(`#app.${name}`);
    }
    const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
    const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
    if (twice.length) found.push(`ids twice: ${twice.join(' ')}`);
    if (Object.prototype.polluted !== undefined || Object.keys(Object.prototype).length) found.push('a prototype of another kind');
    return found;
  }, kind === 'served'),

  /** How far the page is wider than its window, and which elements stick out. */
  overflow: (tab) => tab.evaluate(() => {
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    if (wide <= 0) return { wide: 0, by: [] };
    const edge = document.documentElement.clientWidth + 1;
    const out = [...document.querySelectorAll('#app *')].filter((node) => node.getBoundingClientRect().right > edge);
    return { wide, by: out.slice(0, 5).map((node) => `${node.localName}.${node.getAttribute('class') ?? ''} ${node.textContent.slice(0, 40)}`) };
  }),

  /** Whether all of an element is within the window, and not cut by what it is in. */
  uncut: (tab, selector) => first(tab, selector).evaluate((node) => {
    const { left, right } = node.getBoundingClientRect();
    for (let around = node.parentElement; around; around = around.parentElement) {
      if (getComputedStyle(around).overflowX === 'visible') continue;
      const edge = around.getBoundingClientRect();
      if (left < edge.left - 1 || right > edge.right + 1) return false;
    }
    return left >= 0 && right <= document.documentElement.clientWidth + 1;
  }),

  /** Findings of axe of these impacts, a line each. */
  axe: async (tab, impacts, { axe }) => {
    if (!(await tab.evaluate(() => 'axe' in globalThis))) await tab.evaluate(axe);
    const found = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    return found.violations
      .filter((finding) => impacts.includes(finding.impact))
      .map((finding) => `${finding.impact} ${finding.id}: ${finding.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.html.slice(0, 160)}`).join(' | ')}`);
  },

  /** What a reader of the screen goes through: headings by level, navigation, tables with their columns, figures. */
  outline: (tab) => tab.evaluate(() => {
    const lines = [];
    const say = (node) => node.innerText.replaceAll(/\s+/g, ' ').trim();
    for (const node of document.querySelectorAll('#app nav a, #main h1, #main h2, #main h3, #main table, #main [role=grid], #main [role=table], #main figure')) {
      if (!node.checkVisibility()) continue;
      if (/^h[123]$/.test(node.localName)) lines.push(`${'#'.repeat(Number(node.localName[1]))} ${say(node)}`);
      else if (node.localName === 'a') lines.push(`nav ${say(node)}`);
      else if (node.localName === 'figure') {
        const named = node.matches('[aria-label]') ? node : node.querySelector('[aria-label]');
        lines.push(`figure ${named?.getAttribute('aria-label') ?? node.querySelector('figcaption')?.innerText ?? '(unnamed)'}`);
      } else {
        const heads = [...node.querySelectorAll('thead th, [role=columnheader]')].map(say);
        lines.push(`table ${heads.join(' | ')} (${node.querySelectorAll('tbody tr, [role=row][data-row]').length} rows)`);
      }
    }
    return lines;
  }),

  /** [selector, key]: milliseconds from the input event that a key makes to the second frame after it. */
  keystroke: async (tab, [selector, key]) => {
    await first(tab, selector).focus();
    await tab.evaluate((selector) => {
      globalThis.__took = new Promise((done) => {
        document.querySelector(selector).addEventListener('input', () => {
          const start = performance.now();
          requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
        }, { capture: true, once: true });
      });
    }, selector);
    await tab.keyboard.press(key);
    return tab.evaluate(() => globalThis.__took);
  },

  /** {keys, times, of, name}: presses the keys in turn; milliseconds from each until the frame that has an attribute's new value is drawn. */
  effects: async (tab, { keys, times, of, name }) => {
    await tab.evaluate(([selector, attribute]) => {
      globalThis.__effects = [];
      const value = () => document.querySelector(selector)?.getAttribute(attribute) ?? null;
      addEventListener('keydown', (event) => {
        const before = value();
        const drawn = new MessageChannel();
        drawn.port1.onmessage = () => globalThis.__effects.push(performance.now() - event.timeStamp);
        // A message that is sent within a frame arrives after it.
        const look = () => (value() === before ? requestAnimationFrame(look) : drawn.port2.postMessage(null));
        requestAnimationFrame(look);
      }, { capture: true });
    }, [of, name]);
    for (let at = 0; at < times; at += 1) {
      await tab.keyboard.press(keys[at % keys.length]);
      await poll(tab, `globalThis.__effects.length > ${at}`, 4);
    }
    return tab.evaluate(() => globalThis.__effects);
  },

  /** Bytes of the script's heap after a collection, and what is resident of the page's process. */
  memory: async (tab, _, { context }) => {
    const session = await context.newCDPSession(tab);
    await session.send('HeapProfiler.collectGarbage');
    await session.send('Performance.enable');
    const { metrics } = await session.send('Performance.getMetrics');
    await session.detach();
    const metric = (name) => metrics.find((one) => one.name === name)?.value ?? null;
    return { heap: metric('JSHeapUsedSize'), nodes: metric('Nodes'), documents: metric('Documents') };
  },

  screenshot: (tab, { to, full = false, of }) =>
    (of ? first(tab, of).screenshot({ path: to }) : tab.screenshot({ path: to, fullPage: full })).then(() => null),
  /** Bytes and pages of the page as it is printed. */
  pdf: async (tab, { to } = {}) => {
    const bytes = await tab.pdf({ path: to, format: 'A4' });
    const text = bytes.toString('latin1');
    return { bytes: bytes.length, begins: text.slice(0, 5), pages: [...text.matchAll(/\/Type\s*\/Page\b(?!s)/g)].length };
  },
};

async function poll(tab, expression, pause = 25) {
  const end = Date.now() + 10000;
  for (;;) {
    // A page that is about to be replaced by another holds nothing.
    if (await tab.evaluate(expression).catch(() => false)) return null;
    if (Date.now() > end) throw new Error(`never held: ${expression}`);
    await new Promise((done) => { setTimeout(done, pause); });
  }
}
