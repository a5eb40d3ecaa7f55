// How fast page and command line are with a hundred thousand resources, and how heavy the page
// is. Prints one object; asserts nothing: machines differ. With a number it is so many
// resources, to see whether it still works.
//
//   cargo xtask measure-page
//   TROVE_PEERS=… TROVE_BIN=… node tests/web/measure.mjs 2000

import { spawnSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';

import { openPage, ready, startBrowser, startTrove } from './kit.mjs';

const trove = await startTrove({ share: ['--plain', '--many', process.argv[2] ?? '100000'] });
await trove.until(ready('share'));
// Until the index is built, which takes both cores.
for (let quiet = 0; quiet < 5;) {
  const before = process.hrtime.bigint();
  const used = trove.cpu();
  await new Promise((done) => setTimeout(done, 1000));
  const share = (trove.cpu() - used) / (Number(process.hrtime.bigint() - before) / 1e9);
  quiet = share < 0.1 ? quiet + 1 : 0;
}
const round = (ms) => Math.round(ms * 10) / 10;
const summary = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const within = (share) => round(sorted[Math.ceil(share * sorted.length) - 1]);
  return { median: within(0.5), p95: within(0.95), worst: within(1), times: sorted.length };
};

// The command line, which asks the Trove that runs: from the start of the process to its end. Before
// there is a browser, which would take a core for itself.
const commands = [];
for (let n = 0; n < 21; n++) {
  const began = performance.now();
  const ran = spawnSync(process.env.TROVE_BIN, ['find', `invoice ${n * 40}`], { env: trove.env, cwd: trove.folder });
  commands.push(performance.now() - began);
  if (ran.status !== 0) throw new Error(`find ended with ${ran.status}: ${ran.stderr}`);
}

const browser = await startBrowser();
const weights = { raw: 0, gzip: 0, files: 0 };
const first = [];
const after = [];
const page = await openPage(browser, trove);
page.on('response', async (answer) => {
  if (new URL(answer.url()).pathname.startsWith('/api/')) return;
  const body = await answer.body().catch(() => Buffer.alloc(0));
  weights.raw += body.length;
  weights.gzip += gzipSync(body).length;
  weights.files += 1;
});

// From the address to a card one can click, by the browser's own clock.
for (let n = 0; n < 9; n++) {
  const cold = await openPage(browser, trove);
  await cold.addInitScript(() => {
    const eye = new MutationObserver(() => { if (document.querySelector('.card a')) { globalThis.usable ??= performance.now(); eye.disconnect(); } });
    eye.observe(document, { childList: true, subtree: true });
  });
  await cold.goto('about:blank');
  await cold.goto(`${trove.origin}/`);
  await cold.waitForFunction(() => globalThis.usable);
  const [usable, content] = await cold.evaluate(() => [globalThis.usable, performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd]);
  first.push(usable);
  after.push(Math.max(0, usable - content));
  await cold.context().close();
}
await page.goto('about:blank');
await page.goto(`${trove.origin}/`);
await page.waitForSelector('.card a');
await page.waitForTimeout(300);
const start = { ...weights };

// From the key to the hits on the screen, for every letter of several words.
await page.view('search');
await page.fill('#seek', 'warm');
await page.waitForTimeout(1500);
const keys = await page.evaluate(async () => {
  const seek = document.getElementById('seek');
  const times = [];
  for (const word of ['invoice 7348', 'budget legal', 'protocol 99', 'zzz', 'letter 2024 des']) {
    for (let n = 1; n <= word.length; n++) {
      const view = document.querySelector('.search');
      const drawn = new Promise((done) => { const eye = new MutationObserver(() => { eye.disconnect(); requestAnimationFrame(() => done()); }); eye.observe(view, { childList: true, subtree: true }); });
      const began = performance.now();
      seek.value = word.slice(0, n);
      seek.dispatchEvent(new Event('input', { bubbles: true }));
      await Promise.race([drawn, new Promise((done) => setTimeout(done, 3000))]);
      times.push(performance.now() - began);
      // Longer than the pause after which contents are searched, so that keys do not mix.
      await new Promise((done) => setTimeout(done, 250));
    }
  }
  return times;
});

// Frames while the list flies past.
await page.view('browse?server=share');
await page.waitForSelector('.row b');
const frames = await page.evaluate(async () => {
  const list = document.querySelector('.list');
  const gaps = [];
  let last = performance.now();
  for (let n = 0; n < 120; n++) {
    list.scrollTop += 1700;
    await new Promise((done) => requestAnimationFrame(done));
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  return gaps;
});

console.log(JSON.stringify({
  first_view_ms: summary(first),
  after_content_ms: summary(after),
  keystroke_ms: summary(keys),
  find_command_ms: summary(commands),
  frame_ms: summary(frames),
  weight: start,
}, null, 2));
await browser.close();
await trove.stop();
