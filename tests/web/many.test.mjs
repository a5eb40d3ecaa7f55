// A hundred thousand resources: the list stays whole, and the page stays small.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { holdBack, isSound, openPage, ready, startBrowser, startTrove } from './kit.mjs';

const MANY = 100_000;
let trove;
let browser;

before(async () => {
  // Finding by meaning has its own tests, and would take both cores from the page.
  trove = await startTrove({ share: ['--plain', '--many', String(MANY)] }, '[discovery]\nsemantic = false\n');
  await trove.until(ready('share'));
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await trove?.stop();
});

test('the whole list can be scrolled, and only what is in sight exists', async () => {
  const page = await openPage(browser, trove);
  await page.view('browse?server=share');
  await page.waitForSelector('.row b');
  assert.match(await page.innerText('.total'), /100,001/);
  for (const nth of [50_000, 25_000, 99_000, MANY + 1]) {
    await page.evaluate((n) => { const list = document.querySelector('.list'); list.scrollTop = ((n - 1) / (100_001)) * list.scrollHeight; }, nth);
    await page.waitForSelector(`.row[aria-posinset="${nth}"] b`);
    assert.ok((await page.locator('.row').count()) < 80);
  }
  assert.ok((await page.innerText('.list')).includes(`${MANY - 1}`));
  await isSound(page);
  await page.context().close();
});

test('rows that are on their way say so', async () => {
  const page = await openPage(browser, trove);
  await page.view('browse?server=share');
  await page.waitForSelector('.row b');
  const go = await holdBack(page, '**/api/resources?*');
  await page.evaluate(() => { document.querySelector('.list').scrollTop = 2_000_000; });
  await page.getByRole('option', { name: 'Loading' }).first().waitFor();
  await isSound(page);
  go();
  await page.waitForFunction(() => !document.querySelector('.ghost') && document.querySelector('.row b'));
  await page.context().close();
});

test('one among them is found', async () => {
  const page = await openPage(browser, trove);
  await page.keyboard.press('/');
  await page.keyboard.type('invoice 73488');
  await page.waitForSelector('.hit:has-text("invoice 73488")');
  await isSound(page);
  await page.context().close();
});
