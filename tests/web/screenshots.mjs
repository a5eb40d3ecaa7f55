// The pictures of docs/images: the same page, the same servers, every time.
//
//   TROVE_PEERS=… TROVE_BIN=… node tests/web/screenshots.mjs FOLDER

import { join } from 'node:path';

import { frame, openPage, ready, startBrowser, startTrove } from './kit.mjs';

const folder = process.argv[2];
const uri = encodeURIComponent('docs://runbooks/release.md');
const PICTURES = [
  ['web-home', 'light', '', '.card'],
  ['web-browse', 'light', 'browse?server=share', '.row b'],
  ['web-resource', 'dark', `resource?uri=${uri}`, 'iframe.frame'],
  ['web-model', 'light', `resource?uri=${uri}&tab=model`, '.box.text'],
];

const trove = await startTrove({ docs: [], share: ['--plain', '--many', '5000'], wiki: ['--plain', '--many', '40'], billing: ['--fail'] });
for (const id of ['docs', 'share', 'wiki']) await trove.until(ready(id));
const browser = await startBrowser();
// Some reads, so that there is something to tell.
for (let n = 0; n < 12; n++) {
  for (const one of [uri, 'share%2Bshared%3A%2F%2Fhandbook', 'wiki%2Bshared%3A%2F%2Fhandbook']) await trove.api(`contents?uri=${one}`);
  await new Promise((done) => setTimeout(done, 1000));
}
for (const [name, colorScheme, path, selector] of PICTURES) {
  const page = await openPage(browser, trove, { colorScheme, viewport: { width: 1200, height: 720 } });
  await page.view(path);
  await page.waitForSelector(selector);
  if (selector === 'iframe.frame') await frame(page, 'article');
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.context().close();
}
await browser.close();
await trove.stop();
