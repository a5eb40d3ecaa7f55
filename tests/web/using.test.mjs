// What one does with the page: nothing is lost and nothing false is said, one goes everywhere by
// keys, reads what is there, sees how it does, and changes the servers.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { frame, isSound, openPage, ready, startBrowser, startTrove } from './kit.mjs';

let trove;
let browser;

before(async () => {
  trove = await startTrove({ docs: [], wiki: ['--plain', '--many', '60'], broken: ['--fail'] }, '', [], { 'guide/lang/rust.md': '# Rust\n\nBorrow first.\n', 'guide/lang/go.md': '# Go\n' });
  await trove.until(ready('docs'));
  await trove.until(ready('wiki'));
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await Promise.all([trove, ...others].map((one) => one?.stop()));
});

/** A Trove of a test's own, which ends with the tests at the latest. */
const others = [];
async function start(...how) {
  const own = await startTrove(...how);
  others.push(own);
  return own;
}

const open = (options) => openPage(browser, trove, options);
const uri = (value, more = '') => `resource?uri=${encodeURIComponent(value)}${more}`;

/** One of the old sort of request, over the MCP door. */
async function call(method, params) {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'cursor-vscode', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} };
  const headers = { authorization: `Bearer ${trove.token}`, 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': params.uri ?? params.name };
  await fetch(`${trove.origin}/mcp`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }) });
}

// --- never false, never lost

test('what was written and not saved is still there, whichever way one left', async () => {
  const page = await open();
  await page.view('guide?category=lang&path=rust.md');
  await page.fill('.desk textarea', '# Rust\n\nMine, unsaved.\n');
  await page.click('#side [data-view=browse]');
  await page.waitForSelector('.row b');
  await page.view('guide?category=lang&path=rust.md');
  assert.equal(await page.inputValue('.desk textarea'), '# Rust\n\nMine, unsaved.\n');
  assert.match(await page.innerText('.picks button:has-text("Rust")'), /not saved/);
  await page.reload();
  await page.waitForSelector('.desk textarea');
  assert.equal(await page.inputValue('.desk textarea'), '# Rust\n\nMine, unsaved.\n');
  await isSound(page);

  // Somebody else was there meanwhile: theirs is shown, and nothing is overwritten unasked.
  writeFileSync(`${trove.folder}/guide/lang/rust.md`, '# Rust\n\nTheirs.\n');
  await page.reload();
  await page.waitForSelector('.desk .note:has-text("Theirs")');
  await page.click('button:has-text("Save mine instead")');
  await page.waitForFunction(() => document.querySelector('.desk [role=status]').textContent === 'Saved');
  assert.match(readFileSync(`${trove.folder}/guide/lang/rust.md`, 'utf8'), /Mine, unsaved/);
  await page.reload();
  await page.waitForSelector('.desk textarea');
  assert.equal(await page.locator('.tag.fair').count(), 0);
  await page.context().close();
});

test('a document is renamed and deleted, and what another writes meanwhile is told and merged', async () => {
  const page = await open();
  await page.view('guide?category=lang&path=go.md');
  await page.waitForSelector('.desk textarea');
  await page.click('.desk button:has-text("Rename")');
  await page.fill('.desk #doc-path', 'golang.md');
  await page.click('button:has-text("Rename it")');
  await page.waitForFunction(() => location.hash.includes('path=golang.md'));
  await page.waitForSelector('.picks button:has-text("golang.md")');
  assert.equal(readFileSync(`${trove.folder}/guide/lang/golang.md`, 'utf8'), '# Go\n');
  assert.equal(await page.locator('.picks button:has-text("go.md")').count(), 0);

  await page.fill('.desk textarea', '# Go\n\nMine, at the end.\n');
  writeFileSync(`${trove.folder}/guide/lang/golang.md`, '# Go, by another\n');
  await page.click('.desk button:has-text("Put both together")');
  assert.equal(await page.inputValue('.desk textarea'), '# Go, by another\n\nMine, at the end.\n');
  await isSound(page);
  await page.click('.desk button[type=submit]');
  await page.waitForFunction(() => document.querySelector('.desk [role=status]').textContent === 'Saved');

  await page.click('.desk button:has-text("Delete")');
  await page.click('button:has-text("Delete it")');
  await page.waitForSelector('.side2 .empty:has-text("Choose a document")');
  assert.equal(existsSync(`${trove.folder}/guide/lang/golang.md`), false);
  await page.context().close();
});

test('looking at what a client would get is not a read of that client', async () => {
  const page = await open();
  const name = 'docs://tables/revenue.csv';
  await page.view(uri(name, '&tab=model&client=claude-ai'));
  await page.waitForSelector('.panel .box.text');
  await page.view('clients?name=codex-mcp-client');
  await page.waitForSelector('.detail details');
  const { entries } = await trove.api(`activity?target=${encodeURIComponent(name)}&limit=50`);
  assert.ok(entries.length > 0);
  assert.deepEqual([...new Set(entries.map((entry) => `${entry.via} ${entry.client}`))], ['web trove-web']);
  await page.context().close();
});

test('Home, Health and the corner say the same of the servers', async () => {
  const page = await open();
  await page.waitForSelector('.card');
  await page.waitForSelector('#pulse:has-text("2 of 3 servers")');
  const well = await page.locator('.card:has-text("stdio") .state.good').count();
  assert.equal(well, 2);
  const resources = /([\d,]+) resources/.exec(await page.innerText('.lead'))[1];
  // Of a server that never answered nothing was kept.
  assert.ok(!(await page.locator('.card', { hasText: 'broken' }).innerText()).includes('listed before'));
  await page.view('health');
  assert.match(await page.innerText('.tiles'), /2 of 3/);
  assert.equal(await page.locator('.tile b').nth(1).innerText(), resources);
  assert.equal(await page.locator('.answers .state.good').count(), 2);
  await page.context().close();
});

test('a bar of failures is as red as there were failures', async () => {
  for (const name of ['docs://runbooks/release.md', 'docs://runbooks/incident.md', 'docs://src/window.py', 'docs://missing']) await call('resources/read', { uri: name });
  const page = await open();
  await page.view('health');
  const bar = page.locator('.bars dt:has-text("resources/read") + dd');
  await bar.waitFor();
  const [all, failed] = (await bar.innerText()).match(/\d+/g).map(Number);
  assert.equal(failed, 1);
  const [whole, red] = await bar.evaluate((node) => [node.querySelector('i'), node.querySelector('em')].map((one) => one.getBoundingClientRect().width));
  assert.ok(Math.abs(red / whole - failed / all) < 0.02, `${red} of ${whole} for ${failed} of ${all}`);
  assert.match(await page.innerText('.answers'), /docs[\s\S]*\d+(\.\d+)? ms/);
  await isSound(page);
  await page.context().close();
});

test('a slow read says how long it takes already, and can be stopped', async () => {
  const page = await open();
  await page.view(uri('docs://slow'));
  await page.waitForSelector('.patience .clock');
  await page.waitForFunction(() => parseFloat(document.querySelector('.clock').textContent) >= 0.6);
  await isSound(page);
  await page.click('.patience button');
  await page.waitForSelector('.sorry:has-text("stopped waiting")');
  for (let n = 0; n < 100 && !(await trove.api('logs?server=docs')).lines.some((line) => line.includes('told to stop')); n++) await page.waitForTimeout(100);
  assert.ok((await trove.api('logs?server=docs')).lines.some((line) => line.includes('told to stop')));
  await page.context().close();
});

test('a broken configuration and a stopped Trove are told above every view', async () => {
  const own = await start({ wiki: ['--plain', '--many', '3'] });
  await own.until(ready('wiki'));
  const page = await openPage(browser, own, { expect: /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/ });
  await page.view('browse');
  const file = `${own.folder}/trove.toml`;
  const good = readFileSync(file, 'utf8');
  writeFileSync(file, `${good}\n[limits]\nno_such_limit = 3\n[servers`);
  await page.waitForSelector('#news .bad:has-text("not in force")');
  assert.match(await page.innerText('#news li'), /trove\.toml:\d+/);
  await isSound(page);
  writeFileSync(file, good);
  await page.waitForFunction(() => !document.querySelector('#news').textContent);
  await own.stop();
  await page.waitForSelector('#news .bad:has-text("Trove does not answer")');
  await isSound(page);
  await page.context().close();
});

test('where an issuer decides who gets in the page says that it is not for anybody, and what to do', async () => {
  const own = await start({}, '[http]\nauth = "jwt"\n\n[auth]\nissuer = "https://id.example"\njwks_url = "https://id.example/keys"\n');
  const page = await openPage(browser, own, { enter: false, expect: /403/ });
  await page.goto(`${own.origin}/`);
  await page.waitForSelector('.door:has-text("shows no page")');
  assert.match(await page.innerText('.door pre'), /trove up --no-auth/);
  await isSound(page);
  await page.context().close();
  await own.stop();
});

// --- moving

test('the palette goes to views, servers, actions and resources', async () => {
  const page = await open();
  await page.keyboard.press('Control+k');
  await page.waitForSelector('.palette');
  await isSound(page);
  await page.keyboard.type('heal');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash === '#/health');
  await page.keyboard.press('Control+k');
  await page.waitForSelector('.choice:has-text("wiki")');
  await page.keyboard.type('wiki');
  await page.waitForFunction(() => document.querySelector('.choice[aria-selected=true]')?.textContent.startsWith('wiki'));
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash === '#/browse?server=wiki');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('order o-1042');
  await page.waitForSelector('.choice:has-text("Order o-1042")');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.resource h1:has-text("Order o-1042")');
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('.palette'));
  await isSound(page);
  await page.context().close();
});

test('arrows work from the first moment, and look at one after the other beside the list', async () => {
  const page = await open();
  await page.waitForSelector('.card a');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(() => document.activeElement.matches('.card h2 a')), true);
  await page.view('browse?server=docs');
  await page.waitForSelector('.row b');
  await page.keyboard.press('ArrowDown');
  await page.waitForSelector('.glance h2:has-text("Incident runbook")');
  const inner = page.frameLocator('.glance iframe.frame');
  await inner.locator('article').getByText('Breathe.').waitFor();
  await page.keyboard.press('ArrowUp');
  await page.waitForSelector('.glance h2:has-text("Release runbook")');
  await isSound(page);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.resource h1:has-text("Release runbook")');
  await page.context().close();
});

test('what is Trove’s own comes last, and heads of columns put the list in order', async () => {
  const page = await open();
  await page.view('browse');
  await page.waitForSelector('.row b');
  const owners = (await trove.api('resources?limit=500')).rows.map((row) => row.server);
  assert.equal(owners.slice(-6).every((one) => one === 'trove' || one === 'guide'), true);
  assert.equal(owners.indexOf('trove') > owners.lastIndexOf('wiki'), true);
  await page.click('.heads button:has-text("Size")');
  await page.waitForFunction(() => location.hash.includes('sort=size') && document.querySelector('.row b').textContent === 'A long log');
  assert.equal(await page.getAttribute('.heads button.size', 'aria-pressed'), 'true');
  await page.context().close();
});

// --- reading

test('links and pictures of a document lead to resources of the catalogue, and nowhere else', async () => {
  // The browser refuses the scripts by which Playwright presses what is in a frame without scripts.
  const page = await open({ expect: /Blocked script execution/ });
  await page.view(uri('docs://runbooks/incident.md'));
  const inner = await frame(page, 'a.link');
  assert.equal(await inner.locator('a[href]').count(), 1);
  assert.equal(await inner.locator('.shown img').evaluate((img) => img.naturalWidth), 96);
  assert.equal(await inner.locator('span.link').count(), 1);
  await isSound(page);
  await inner.locator('a.link').click();
  await page.waitForSelector('.resource h1:has-text("Release runbook")');
  assert.ok(page.url().startsWith(`${trove.origin}/#/resource?uri=docs`));
  await isSound(page);
  await page.context().close();
});

test('code is coloured, a notebook shows its cells, and sound has a player', async () => {
  const page = await open();
  await page.view(uri('docs://src/window.py'));
  let inner = await frame(page, '.lines .k');
  assert.equal(await inner.locator('.lines .k').first().innerText(), 'from');
  assert.ok((await inner.locator('.lines').innerText()).includes('class Window:'));
  await page.view(uri('docs://notes/plot.ipynb'));
  inner = await frame(page, '.notebook h1');
  assert.equal((await inner.locator('.answer').innerText()).trim(), '3.14159');
  assert.equal(await inner.locator('.notebook img').evaluate((img) => img.naturalWidth), 96);
  await page.view(uri('docs://sounds/beep.wav'));
  inner = await frame(page, 'audio');
  await inner.locator('audio').evaluate((audio) => new Promise((done, failed) => {
    if (audio.readyState > 0) return done();
    audio.onloadedmetadata = done;
    audio.onerror = () => failed(new Error('it does not play'));
  }));
  await isSound(page);
  await page.context().close();
});

test('a long text is searched by the search that a model has, and the line found is shown', async () => {
  const page = await open({ expect: /400/ });
  await page.view(uri('docs://long/log.txt'));
  await frame(page, '.lines');
  await page.fill('.panel .narrow', 'no such words');
  await page.waitForSelector('.matches:has-text("None of")');
  await page.fill('.panel .narrow', '(');
  await page.waitForSelector('.matches .note:has-text("regular expression")');
  await page.fill('.panel .narrow', 'lazy d.g$');
  await page.waitForSelector('.matches li');
  assert.match(await page.innerText('.matches p'), /120,000 lines/);
  await isSound(page);
  await page.locator('.matches li button').nth(2).click();
  const inner = await frame(page, '#at');
  assert.equal(await inner.locator('#at').innerText(), '3');
  await isSound(page);
  await page.context().close();
});

// --- seeing

test('how much of a file each client gets is said and drawn', async () => {
  const page = await open();
  await page.view(uri('docs://long/log.txt', '&tab=model&client=claude-ai'));
  await page.waitForSelector('.portions dd');
  assert.match(await page.innerText('.portions .note'), /gets 0\.\d %.*grep/);
  await isSound(page);
  await page.context().close();
});

test('the map has an area for each server and type, as large as what is there', async () => {
  const page = await open();
  await page.view('map');
  await page.waitForSelector('.area');
  const { areas } = await trove.api('map');
  const total = areas.reduce((sum, area) => sum + area.count, 0);
  assert.equal(total, (await trove.api('overview')).resources);
  const size = (label) => page.locator(`.region[aria-label=${label}]`).evaluate((one) => one.offsetWidth * one.offsetHeight);
  const of = (server) => areas.filter((area) => area.server === server).reduce((sum, area) => sum + area.count, 0);
  const share = (await size('wiki')) / (await size('docs'));
  assert.ok(Math.abs(share / (of('wiki') / of('docs')) - 1) < 0.1, `${share}`);
  await isSound(page);
  await page.click('[aria-label^="CSV"]');
  await page.waitForFunction(() => document.querySelectorAll('.row b').length === 1);
  await page.context().close();
});

// --- acting

test('a server is added, restarted and removed, each change shown before it is made', async () => {
  const own = await start({ wiki: ['--plain', '--many', '3'] });
  await own.until(ready('wiki'));
  const page = await openPage(browser, own, { expect: /409/ });
  const server = new URL('./server.mjs', import.meta.url).pathname;
  await page.click('button:has-text("Add a server")');
  await page.fill('#new-name', 'more');
  await page.fill('#new-reach', `${process.execPath} ${server} 'more' --plain --many 7`);
  await page.click('.acting button[type=submit]');
  await page.waitForSelector('.diff .come:has-text("[servers.more]")');
  assert.ok(!readFileSync(`${own.folder}/trove.toml`, 'utf8').includes('servers.more'));
  await isSound(page);
  await page.click('button:has-text("Add it")');
  await page.waitForSelector('.acting p:has-text("It has 8 resources")');
  assert.match(readFileSync(`${own.folder}/trove.toml`, 'utf8'), /\[servers\.more\]/);
  await page.click('.acting button:has-text("Close")');

  // The same name again is refused, in the words of the command line.
  await page.click('button:has-text("Add a server")');
  await page.fill('#new-name', 'more');
  await page.fill('#new-reach', 'true');
  await page.click('.acting button[type=submit]');
  await page.waitForSelector('.fault:has-text("there is a server")');
  await page.keyboard.press('Escape');

  const card = page.locator('.card', { has: page.getByRole('link', { name: 'more', exact: true }) });
  await card.locator('.more summary').click();
  const restarted = page.waitForResponse(/servers\/restart/);
  await card.getByRole('button', { name: 'Restart' }).click();
  assert.equal((await restarted).status(), 200);
  await own.until((overview) => overview.health.sources.some((source) => source.id === 'more' && source.state === 'ready'));

  await card.locator('.more summary').click();
  await card.getByRole('button', { name: 'Remove' }).click();
  await page.waitForSelector('.diff .go:has-text("[servers.more]")');
  await page.click('button:has-text("Remove it")');
  await own.until((overview) => !overview.health.sources.some((source) => source.id === 'more'));
  assert.ok(!readFileSync(`${own.folder}/trove.toml`, 'utf8').includes('servers.more'));
  await card.waitFor({ state: 'detached' });
  await isSound(page);
  await page.context().close();
  await own.stop();
});

test('a folder is served from the page, and no line of the configuration but the new ones is shown', async () => {
  const own = await start({ wiki: ['--plain', '--many', '3', '--api-key', 'canary-91c'] }, '', [], { 'notes/a.md': '# A note\n' });
  await own.until(ready('wiki'));
  const page = await openPage(browser, own);
  const told = [];
  page.on('response', async (answer) => { if (answer.url().includes('/api/')) told.push(await answer.text().catch(() => '')); });
  await page.click('button:has-text("Add a server")');
  await page.fill('#new-name', 'notes');
  await page.fill('#new-reach', `${own.folder}/notes/`);
  await page.click('.acting button[type=submit]');
  await page.waitForSelector('.diff .come:has-text("[folders.notes]")');
  await page.click('button:has-text("Add it")');
  await page.waitForSelector('.acting p:has-text("It has 2 resources")');
  await page.click('.acting button:has-text("Close")');
  const card = page.locator('.card', { has: page.getByRole('link', { name: 'wiki', exact: true }) });
  await card.locator('.more summary').click();
  await card.getByRole('button', { name: 'Remove' }).click();
  await page.waitForSelector('.diff .go:has-text("[servers.wiki]")');
  assert.ok(!told.join().includes('canary-91c') && !(await page.content()).includes('canary-91c'));
  await page.context().close();
  await own.stop();
});

test('a server that nobody approved shows what it would run, and runs when one lets it', async () => {
  // Found where Trove was started, not named: so it waits.
  const own = await start({ wiki: ['--plain', '--many', '3'] }, '', [], {}, { isFound: true });
  const page = await openPage(browser, own);
  await page.click('.card button:has-text("See what it runs")');
  await page.waitForSelector('.acting dd:has-text("server.mjs")');
  await isSound(page);
  await page.click('.acting button:has-text("Let it run")');
  await own.until(ready('wiki'));
  await page.context().close();
  await own.stop();
});

test('without a token nobody changes a server', async () => {
  const own = await start({}, '', ['--no-auth']);
  const answer = await fetch(`${own.origin}/api/servers/add`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name: 'x', command: ['true'] }) });
  assert.equal(answer.status, 403);
  assert.equal(readFileSync(`${own.folder}/trove.toml`, 'utf8').includes('servers.x'), false);
  await own.stop();
});
