// The pictures of docs/images: the same page, the same servers, every time. With `--all`
// every view, light and dark, to be looked at; or only those that are named.
//
//   TROVE_PEERS=… TROVE_BIN=… node tests/web/screenshots.mjs FOLDER [--all [VIEW...]]

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { frame, openPage, ready, startBrowser, startTrove } from './kit.mjs';

const folder = process.argv[2];
const isAll = process.argv[3] === '--all';
const named = process.argv.slice(4);
const of = (uri, more = '') => `resource?uri=${encodeURIComponent(uri)}${more}`;
const RUNBOOK = 'docs://runbooks/release.md';
const PICTURES = [
  ['web-home', 'light', '', '.card'],
  ['web-browse', 'light', 'browse?look=docs%3A%2F%2Frunbooks%2Frelease.md', '.glance iframe.frame'],
  ['web-resource', 'dark', of(RUNBOOK), 'iframe.frame'],
  ['web-model', 'light', of('docs://long/log.txt', '&tab=model'), '.box.text'],
  ['web-guide', 'light', 'guide?category=lang&path=python.md', '.desk iframe.frame'],
];
const VIEWS = [
  ['home', '', '.card'],
  ['browse', 'browse', '.row b'],
  ['browse-facets', 'browse?server=docs&type=text/markdown', '.row b'],
  ['search-empty', 'search', '.empty'],
  ['search', 'search?q=release', '.hit'],
  ['search-none', 'search?q=zzqqxx', '.empty'],
  ['markdown', of(RUNBOOK), 'iframe.frame'],
  ['json', of('docs://orders/o-1042.json'), 'iframe.frame'],
  ['table', of('docs://tables/revenue.csv'), 'iframe.frame'],
  ['code', of('docs://src/window.py'), 'iframe.frame'],
  ['picture', of('docs://images/mark.png'), 'iframe.frame'],
  ['bytes', of('docs://archive/dump.bin'), 'iframe.frame'],
  ['hostile', of('docs://hostile/page.md'), 'iframe.frame'],
  ['missing', of('docs://missing'), 'section'],
  ['contested', of('shared://handbook'), 'section'],
  ['model', of(RUNBOOK, '&tab=model'), '.box.text'],
  ['about', of(RUNBOOK, '&tab=about'), 'section'],
  ['notebook', of('docs://notes/plot.ipynb'), 'iframe.frame'],
  ['map', 'map', '.area'],
  ['templates', 'templates', 'section'],
  ['guide', 'guide', '.picks'],
  ['guide-editor', 'guide?category=lang&path=python.md', '.desk iframe.frame'],
  ['guide-new', 'guide?category=lang&path=', '.desk'],
  ['clients', 'clients', 'section'],
  ['activity', 'activity', 'section'],
  ['conflicts', 'conflicts', 'section'],
  ['health', 'health', 'section'],
  ['settings', 'settings', 'section'],
];
const GUIDE = {
  'guide/lang/python.md': '---\ntitle: Python\ndescription: How we write Python\n---\n# Python\n\nUse `ruff`, and type what others call.\n\n- Functions read like a paragraph\n- Errors say what to do\n\n```python\ndef read(uri: str) -> bytes: ...\n```\n',
  'guide/lang/rust.md': '---\ntitle: Rust\n---\n# Rust\n\nUse `clippy`.\n',
  'guide/ops/releases.md': '---\ntitle: Releases\ndescription: Who may release, and when\n---\n# Releases\n\nNever on a Friday.\n',
};

const trove = await startTrove({ docs: [], share: ['--plain', '--many', '5000'], wiki: ['--plain', '--many', '40'], billing: ['--fail'] }, '', [], GUIDE);
for (const id of ['docs', 'share', 'wiki']) await trove.until(ready(id));
const browser = await startBrowser();
// Some reads, so that there is something to tell.
for (let n = 0; n < 12; n++) {
  for (const one of [RUNBOOK, 'share+shared://handbook', 'wiki+shared://handbook']) await trove.api(`contents?uri=${encodeURIComponent(one)}`);
  await new Promise((done) => setTimeout(done, 1000));
}

async function take(name, colorScheme, path, selector) {
  const page = await openPage(browser, trove, { colorScheme, viewport: { width: 1200, height: 720 } });
  await page.view(path);
  await page.waitForSelector(selector);
  if (selector.endsWith('iframe.frame')) await frame(page, 'main');
  // Sub-pixels and curves settle; nothing here waits for an answer.
  await page.waitForTimeout(600);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.context().close();
}

mkdirSync(folder, { recursive: true });
if (isAll) {
  for (const shade of ['light', 'dark']) {
    for (const [name, path, selector] of VIEWS.filter(([one]) => !named.length || named.includes(one))) await take(`${name}-${shade}`, shade, path, selector).catch((error) => console.error(`${name}: ${error.message.split('\n')[0]}`));
  }
} else {
  for (const picture of PICTURES) await take(...picture);
}
await browser.close();
await trove.stop();
