// Looks at pages in a real browser: reads a job as JSON on stdin, writes what was seen as JSON on stdout.
//
//     {"modules": DIR, "chromium": PATH, "visits": [{"page": FILE or ADDRESS, "fragment": "#view=cases", "width": 1280, "height": 900,
//       "theme": "light"|"dark", "scripts": true, "media": "screen"|"print", "remember": NAME, "steps": [STEP...]}]}
//
// Every visit is a fresh profile, unless visits share a name in `remember`. The page keeps its security policy: nothing is
// bypassed, what a step evaluates gets in through the debugger. For each visit: console messages, errors, violations of the
// policy, dialogs, windows opened, every request other than the page itself (of an address: to another server), and the
// result of each step, in order.
//
// Steps, one key each (those in steps.mjs): click, type, press, wait, text, texts, attribute, count, value, evaluate, ...
// A step that fails ends its visit, and `failed` says which one and why.

import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { steps } from './steps.mjs';

const job = JSON.parse(fs.readFileSync(0, 'utf8'));
const require = createRequire(path.join(path.resolve(job.modules), 'package.json'));
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Runs in the page before anything of it: notes what the page itself could not tell, and when it was ready. */
function watch() {
  const seen = { violations: [], ready: null, painted: null };
  Object.defineProperty(globalThis, '__seen', { value: seen, enumerable: false });
  document.addEventListener('securitypolicyviolation', (event) => {
    seen.violations.push(`${event.effectiveDirective}: ${event.blockedURI} ${event.sample ?? ''}`.trim());
  });
  // The element that will be marked may not be there yet.
  const observer = new MutationObserver(() => {
    if (!document.documentElement?.hasAttribute('data-ready')) return;
    seen.ready = performance.now();
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { seen.painted = performance.now(); }));
  });
  observer.observe(document, { attributes: true, childList: true, subtree: true, attributeFilter: ['data-ready'] });
}

async function visit(browser, contexts, wish) {
  const options = {
    viewport: { width: wish.width ?? 1280, height: wish.height ?? 900 },
    colorScheme: wish.theme ?? 'light',
    javaScriptEnabled: wish.scripts ?? true,
    acceptDownloads: false,
  };
  const kept = wish.remember && contexts.get(wish.remember);
  const context = kept || (await browser.newContext(options));
  if (wish.remember) contexts.set(wish.remember, context);
  const seen = { console: [], errors: [], violations: [], dialogs: [], windows: [], requests: [], results: [], failed: null };
  const tab = await context.newPage();
  const isServed = wish.page.startsWith('http://');
  const url = isServed ? wish.page : pathToFileURL(fs.realpathSync(wish.page)).href;
  const isOwn = (address) => (isServed ? new URL(address).origin === new URL(url).origin : address.split('#')[0] === url);
  if (options.javaScriptEnabled) await tab.addInitScript(watch);
  tab.on('console', (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  // A page whose script broke is never ready: nobody waits for it.
  const broken = new Promise((_, refuse) => {
    tab.on('pageerror', (error) => {
      seen.errors.push(String(error.stack ?? error));
      refuse(new Error('the page threw an error before it was ready'));
    });
  });
  broken.catch(() => {});
  tab.on('dialog', (dialog) => {
    seen.dialogs.push(`${dialog.type()}: ${dialog.message()}`);
    dialog.dismiss().catch(() => {});
  });
  const windows = (other) => { if (other !== tab) seen.windows.push(other.url()); };
  context.on('page', windows);
  tab.on('request', (request) => { if (!isOwn(request.url())) seen.requests.push(request.url()); });
  tab.on('framenavigated', (frame) => { if (!isOwn(frame.url())) seen.requests.push(`navigated to ${frame.url()}`); });
  if (wish.media) await tab.emulateMedia({ media: wish.media });
  tab.setDefaultTimeout(wish.patience ?? 15000);
  let at = -1;
  try {
    await tab.goto(url + (wish.fragment ?? ''));
    // A page without a script is ready as soon as it is read.
    if (options.javaScriptEnabled && !wish.unready) await Promise.race([tab.waitForSelector('html[data-ready], html:not(:has(script))', { state: 'attached' }), broken]);
    for (const step of wish.steps ?? []) {
      at += 1;
      const [name, wanted] = Object.entries(step)[0];
      if (!Object.hasOwn(steps, name)) throw new Error(`there is no step "${name}"`);
      seen.results.push((await steps[name](tab, wanted, { axe, context, url })) ?? null);
    }
  } catch (error) {
    seen.failed = `${at < 0 ? 'opening' : `step ${at} ${JSON.stringify(wish.steps[at]).slice(0, 300)}`}: ${error.message}`;
  }
  if (options.javaScriptEnabled) {
    const told = await tab.evaluate(() => ({
      violations: globalThis.__seen?.violations ?? [],
      ready: globalThis.__seen?.ready ?? null,
      painted: globalThis.__seen?.painted ?? null,
      // What a payload sets that got to run.
      hit: String(globalThis.__hit ?? ''),
    })).catch((error) => ({ violations: [`could not ask: ${error.message}`] }));
    Object.assign(seen, told);
  }
  context.off('page', windows);
  await tab.close();
  if (!wish.remember) await context.close();
  return seen;
}

const asRoot = process.getuid?.() === 0;
const browser = await chromium.launch({
  executablePath: job.chromium,
  // Chromium's own sandbox does not start as root.
  args: ['--disable-dev-shm-usage', '--enable-precise-memory-info', ...(asRoot ? ['--no-sandbox'] : [])],
});
const contexts = new Map();
const visits = [];
try {
  for (const wish of job.visits) visits.push(await visit(browser, contexts, wish));
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify({ version: browser.version(), visits }));
