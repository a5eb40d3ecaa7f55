// What the tests of the page share: a running Trove, a browser, and the rules that hold
// in every view.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const peers = createRequire(join(process.env.TROVE_PEERS, 'npm', 'package.json'));
const { chromium } = peers('playwright-core');
const AXE = peers.resolve('axe-core/axe.min.js');
const SERVER = new URL('./server.mjs', import.meta.url).pathname;
/** A folder whose files stand in for the embedded ones, to see a change without building. */
const WEB = process.env.TROVE_WEB;
const LIMIT = 60_000;
/** How often a view is looked at that changes meanwhile. */
const MAX_LOOKS = 10;
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** What is out of reach of somebody. */
const LOOK = `axe.run(document, { iframes: false, runOnly: ${JSON.stringify(RULES)} }).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).join(' | ')))`;

/**
 * Starts Trove in front of some servers; `settings` go to the end of its configuration, `files` beside it.
 * `isFound`: nobody names the configuration, it lies where Trove is started.
 */
export async function startTrove(servers, settings = '', flags = [], files = {}, { isFound = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'trove-web-'));
  const orders = join(folder, 'orders');
  writeFileSync(orders, '');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  // Contents by the thousand would keep the index busy for longer than any test.
  const index = (args) => (args.includes('--many') ? 'index = "metadata"\n' : '');
  const entry = ([id, args]) => `[servers.${id}]\n${index(args)}command = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify([SERVER, id, '--orders', orders, ...args])}\n`;
  writeFileSync(join(folder, 'trove.toml'), `${Object.entries(servers).map(entry).join('\n')}\n${settings}`);
  const env = { ...process.env, TROVE_HOME: join(folder, 'home'), TROVE_CONFIG: join(folder, 'trove.toml') };
  if (isFound) delete env.TROVE_CONFIG;
  const child = spawn(process.env.TROVE_BIN, ['up', '--http', '127.0.0.1:0', ...flags], { env, cwd: folder, stdio: ['ignore', 'pipe', process.env.TROVE_LOUD ? 'inherit' : 'ignore'] });
  let said = '';
  const address = await new Promise((found, failed) => {
    const timer = setTimeout(() => failed(new Error(`trove printed no address: ${said}`)), LIMIT);
    child.on('exit', (code) => failed(new Error(`trove ended with ${code}: ${said}`)));
    child.stdout.on('data', (data) => {
      said += data;
      const line = /The page for you: +(\S+)/.exec(said);
      if (line) { clearTimeout(timer); found(line[1]); }
    });
  });
  const url = new URL(address);
  const trove = {
    address, origin: url.origin, token: url.hash.replace('#token=', ''), folder, env,
    /** Seconds of processor time it has used. */
    cpu() {
      const [, fields] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ');
      const all = fields.split(' ');
      return (Number(all[11]) + Number(all[12])) / 100;
    },
    order: (what) => appendFileSync(orders, `${what}\n`),
    async api(path) {
      const answer = await fetch(`${url.origin}/api/${path}`, { headers: { authorization: `Bearer ${trove.token}` } });
      return answer.json();
    },
    async until(is) {
      for (const end = Date.now() + LIMIT; Date.now() < end;) {
        if (is(await trove.api('overview'))) return;
        await new Promise((done) => setTimeout(done, 50));
      }
      throw new Error('Trove did not come into the state awaited');
    },
    stop() {
      child.removeAllListeners('exit');
      if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
      child.kill('SIGTERM');
      return new Promise((done) => child.on('exit', () => { rmSync(folder, { recursive: true, force: true }); done(); }));
    },
  };
  return trove;
}

/** The server answers and has been listed. */
export const ready = (id) => (overview) => overview.health.sources.some((source) => source.id === id && source.state === 'ready' && source.resources > 0);

export const startBrowser = () => chromium.launch({ executablePath: process.env.TROVE_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });

/** A page that notes everything that must not happen. */
export async function openPage(browser, trove, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  if (WEB) await fromFolder(context, trove);
  const page = await context.newPage();
  // The machine may be busy with other tests.
  page.setDefaultTimeout(LIMIT);
  const wrong = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type()) && !options.expect?.test(message.text())) wrong.push(`console: ${message.text()}`); });
  page.on('pageerror', (error) => wrong.push(`error: ${error}`));
  context.on('request', (request) => { if (!/^(data|blob|about):/.test(request.url()) && new URL(request.url()).origin !== trove.origin) wrong.push(`request: ${request.url()}`); });
  page.wrong = wrong;
  page.view = async (path) => {
    await page.goto(`${trove.origin}/#/${path}`);
    await page.waitForFunction(() => document.getElementById('main').dataset.shown === location.hash);
  };
  if (options.enter !== false) {
    await page.goto(trove.address);
    await page.waitForSelector('main > section');
  }
  return page;
}

/** Serves the files of the page from `WEB`, under the headers of the embedded ones. */
async function fromFolder(context, trove) {
  const types = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', html: 'text/html' };
  const headers = Object.fromEntries((await fetch(`${trove.origin}/`)).headers);
  await context.route((url) => url.origin === trove.origin && !url.pathname.startsWith('/api/'), (route) => {
    const path = new URL(route.request().url()).pathname.slice(1) || 'index.html';
    const type = types[path.split('.').pop()];
    delete headers['content-length'];
    return route.fulfill({ body: readFileSync(join(WEB, path)), headers: { ...headers, 'content-type': `${type}; charset=utf-8` } });
  });
}

/** Keeps answers back, from the one after the first `before` on, until what it gives is called. */
export async function holdBack(page, pattern, before = 0) {
  let asked = 0;
  let go;
  const gone = new Promise((done) => { go = done; });
  page.on('close', go);
  await page.route(pattern, async (route) => {
    asked += 1;
    if (asked > before) await gone;
    await route.continue().catch(() => {});
  });
  return go;
}

/** Nothing went wrong, nothing left, nothing is out of reach of a screen reader. */
export async function isSound(page, { axe = true } = {}) {
  assert.deepEqual(page.wrong, []);
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  if (!axe) return;
  // The page forbids scripts that are not its own, so this one comes in by the debugger.
  const session = await page.context().newCDPSession(page);
  let looked;
  // A view that is drawn anew under its eyes, because a server has news, is looked at again.
  for (let left = MAX_LOOKS; left > 0 && !looked?.result?.value; left -= 1) {
    await session.send('Runtime.evaluate', { expression: readFileSync(AXE, 'utf8') });
    looked = await session.send('Runtime.evaluate', { awaitPromise: true, returnByValue: true, expression: LOOK });
  }
  await session.detach();
  assert.deepEqual(looked.result.value, [], looked.exceptionDetails && JSON.stringify(looked.exceptionDetails));
}

/** The frame in which contents are shown, once it is there. */
export async function frame(page, selector) {
  const inner = page.frameLocator('iframe.frame');
  await inner.locator(selector).first().waitFor();
  return inner;
}
