// The page in a real browser: every view, every kind of contents, hostile ones too.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { frame, holdBack, isSound, openPage, ready, startBrowser, startTrove } from './kit.mjs';

const HOSTILE = '<script>parent.pwned=1</script><img src="http://evil.test/x.png" onerror="parent.pwned=1">';
const CANARY = 'canary-7f3a';
let trove;
let browser;

before(async () => {
  trove = await startTrove(
    { docs: [], wiki: ['--plain', '--many', '60', '--api-key', CANARY], broken: ['--fail'] },
    '[[policy]]\nmatch = "docs+docs://orders/*"\nroles = ["finance"]\nvisible = true\n\n[[policy]]\nmatch = "docs+docs://archive/*"\nroles = ["finance"]\nvisible = false\n',
    [],
    { 'guide/lang/rust.md': '# Rust\n\nBorrow first.\n', 'guide/lang/go.md': '# Go\n\nRun gofmt.\n' },
  );
  await trove.until(ready('docs'));
  await trove.until(ready('wiki'));
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await trove?.stop();
});

const open = (options) => openPage(browser, trove, options);
const uri = (value, more = '') => `resource?uri=${encodeURIComponent(value)}${more}`;

/** One modern request over the MCP door, as that client. */
async function mcp(client, method, params = {}) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: client, version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = {
    authorization: `Bearer ${trove.token}`, 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method,
  };
  if (params.uri ?? params.name) headers['mcp-name'] = params.uri ?? params.name;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
  return (await fetch(`${trove.origin}/mcp`, { method: 'POST', headers, body })).text();
}

test('the token leaves the address at once and becomes a cookie that no script sees', async () => {
  const page = await open();
  assert.equal(new URL(page.url()).hash, '#/');
  const [cookie] = await page.context().cookies(`${trove.origin}/api/`);
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, 'Strict');
  assert.equal(cookie.path, '/api');
  const kept = await page.evaluate(() => [document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), location.href, history.length]);
  assert.ok(!kept.join().includes(trove.token));
  await page.reload();
  await page.waitForSelector('.card');
  await page.context().close();
});

test('without a pass there is a door that says how to get in', async () => {
  const page = await open({ enter: false, expect: /401/ });
  await page.goto(`${trove.origin}/#/browse`);
  await page.waitForSelector('.door');
  await isSound(page);
  await page.fill('#token', 'wrong');
  await page.click('.door button');
  await page.waitForFunction(() => document.querySelector('.fault').textContent.includes('not the token'));
  await page.fill('#token', trove.token);
  await page.click('.door button');
  await page.waitForSelector('.row');
  await page.context().close();
});

const VIEWS = {
  home: ['', '.card'], browse: ['browse', '.row b'], panes: [`browse?look=${encodeURIComponent('docs://runbooks/release.md')}`, '.glance iframe.frame'], map: ['map', '.area'], search: ['search?q=runbook', '.hit'], nothing: ['search?q=zzzz', '.empty'],
  templates: ['templates', '.filling'], guide: ['guide', '.shelves'], document: ['guide?category=lang&path=rust.md', '.desk textarea'], clients: ['clients?name=cursor-vscode', '.detail details'], activity: ['activity', '.activity'],
  conflicts: ['conflicts', 'table'], health: ['health?server=broken', '.log pre'], settings: ['settings', '.card'],
  resource: [uri('docs://runbooks/release.md'), 'iframe.frame'], model: [uri('docs://runbooks/release.md', '&tab=model'), '.box'],
  about: [uri('docs://runbooks/release.md', '&tab=about'), '.box'], reads: [uri('docs://runbooks/release.md', '&tab=reads'), '.sheet'],
};
for (const colorScheme of ['light', 'dark']) {
  test(`every view is sound and within reach of everybody, ${colorScheme}`, async () => {
    const page = await open({ colorScheme });
    for (const [name, [path, selector]] of Object.entries(VIEWS)) {
      await page.view(path);
      await page.waitForSelector(selector);
      await isSound(page).catch((error) => assert.fail(`${name}: ${error.message}`));
      const wide = await page.evaluate(() => document.getElementById('main').scrollWidth - document.getElementById('main').clientWidth);
      assert.ok(wide <= 0, `${name} is wider than the window by ${wide}`);
    }
    await page.context().close();
  });
}

test('home tells of each server, what is wrong and what to do', async () => {
  const page = await open();
  const broken = page.locator('.card', { hasText: 'broken' });
  await broken.locator('.trouble').waitFor();
  assert.match(await broken.innerText(), /trove doctor/);
  assert.match(await broken.locator('.said').innerText(), /no database at localhost:5432/);
  await broken.getByText('Read its log').click();
  await page.waitForSelector('.log pre');
  assert.match(await page.innerText('.log pre'), /no database at localhost:5432/);
  await page.context().close();
});

test('searching as one types, with marks, reasons and servers to choose', async () => {
  const page = await open();
  await page.keyboard.press('/');
  await page.keyboard.type('handb', { delay: 20 });
  // Fewer letters find the same two, so it is the mark that tells.
  await page.waitForFunction(() => document.querySelector('.hit mark')?.innerText.toLowerCase() === 'handb');
  assert.equal(await page.locator('.hit').count(), 2);
  assert.match(page.url(), /search\?q=handb$/);
  assert.match(await page.innerText('.hit .why'), /name/);
  await page.click('.chip:has-text("wiki")');
  await page.waitForFunction(() => document.querySelectorAll('.hit').length === 1);
  await page.focus('#seek');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.resource h1');
  assert.equal(await page.innerText('.resource h1'), 'Handbook');
  await page.goBack();
  await page.waitForSelector('.hit');
  await isSound(page);
  await page.context().close();
});

test('what is typed while the first answer is on its way is not lost', async () => {
  const page = await open();
  const go = await holdBack(page, '**/api/find?q=r&*');
  await page.keyboard.press('/');
  await page.keyboard.type('release runbook');
  await page.waitForFunction(() => location.hash.endsWith('q=release+runbook'));
  go();
  await page.waitForFunction(() => document.querySelector('.status')?.textContent.startsWith('1 resource'));
  await page.waitForSelector('.hit:has-text("Release runbook")');
  await isSound(page);
  await page.context().close();
});

test('what a document holds is found when the typing pauses', async () => {
  const page = await open();
  await trove.until((overview) => overview.resources > 0);
  for (let n = 0; n < 100 && !(await trove.api('search?q=kubectl%20rollout')).hits?.length; n++) await page.waitForTimeout(200);
  await page.view('search?q=kubectl%20rollout');
  const hit = page.locator('.deeper .hit', { hasText: 'Release runbook' });
  await hit.waitFor();
  assert.match(await hit.innerText(), /content/);
  await isSound(page);
  await page.context().close();
});

test('a list that is fetched anew shows what there was until that is there', async () => {
  const page = await open();
  const go = await holdBack(page, '**/api/resources?*', 1);
  const second = page.waitForRequest(/api\/resources\?/).then(() => page.waitForRequest(/api\/resources\?/));
  await page.view('browse');
  await second;
  await page.waitForSelector('.row[aria-posinset="11"] b');
  assert.equal(await page.locator('.ghost').count(), 0);
  await isSound(page);
  go();
  await page.context().close();
});

test('browsing by place and by facet, all of it in the address', async () => {
  const page = await open();
  await page.view('browse');
  await page.click('.branch:has-text("docs")');
  await page.waitForFunction(() => location.hash.includes('server=docs'));
  await page.click('.branch:has-text("docs://")');
  await page.locator('.branch', { hasText: 'runbooks/' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.row b').length === 2);
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll('.row b').length === 2);
  await page.click('.chip:has-text("runbooks")');
  await page.click('.facet summary:has-text("Type")');
  await page.click('.choices label:has-text("text/csv")');
  await page.waitForFunction(() => document.querySelectorAll('.row b').length === 1);
  await page.focus('.list');
  await page.keyboard.press('Enter');
  await page.waitForSelector('iframe.frame');
  await isSound(page);
  await page.context().close();
});

const KINDS = {
  'docs://runbooks/release.md': ['article h1', 'Release runbook'], 'docs://tables/revenue.csv': ['table td', '1'], 'docs://src/window.py': ['.lines', 'class Window'],
  'docs://images/mark.png': ['figure img', ''], 'docs://live/counter': ['.lines', 'counter stands'], 'docs://hostile/picture.svg': ['figure img', ''],
  'info://health': ['.tree .k', 'status'], 'docs://parts': ['article h1', 'First'],
};
test('every kind of contents is shown in the form that suits it', async () => {
  const page = await open();
  for (const [name, [selector, text]] of Object.entries(KINDS)) {
    await page.view(uri(name));
    const inner = await frame(page, selector);
    assert.ok((await inner.locator(selector).first().innerText()).includes(text), name);
    if (selector.includes('img')) assert.ok(await inner.locator('img').evaluate((img) => img.naturalWidth > 0).catch(() => true), name);
  }
  await page.selectOption('select[aria-label=Part]', '1');
  const second = await frame(page, '.tree .k');
  assert.equal(await second.locator('.tree .k').innerText(), 'second');
  await page.click('.segments button:has-text("Hex")');
  const hex = await frame(page, '.hex');
  assert.match(await hex.locator('.hex').innerText(), /^00000000 {2}7b 22 73/);
  await page.view(uri('docs://empty'));
  await frame(page, '.code');
  await isSound(page);
  await page.context().close();
});

test('hostile contents do nothing: no script, no request, no way out', async () => {
  const page = await open();
  for (const name of ['page.html', 'page.md', 'picture.svg', 'data.json']) {
    await page.view(uri(`docs://hostile/${name}`));
    const box = page.locator('iframe.frame');
    await box.waitFor();
    assert.equal(await box.getAttribute('sandbox'), '');
    for (const look of await page.locator('.segments button').allInnerTexts()) {
      await page.click(`.segments button:has-text("${look}")`);
      const inner = await frame(page, 'main > *');
      assert.equal(await inner.locator('script, iframe, a[href], object, form').count(), 0, `${name} as ${look}`);
    }
    for (const tab of ['model', 'about', 'reads']) {
      await page.click(`#tab-${tab}`);
      await page.waitForSelector(`.panel.${tab} > :not(.skeleton)`);
    }
    await isSound(page, { axe: false });
  }
  await page.view('search?q=hostile');
  await page.waitForSelector('.hit');
  assert.ok((await page.innerText('.hits')).includes('\\u{202e}'));
  await isSound(page);
  // The frame by itself, outside of the page: it is as harmless there.
  const { ticket } = await trove.api(`contents?uri=${encodeURIComponent('docs://hostile/page.html')}`);
  const alone = await page.context().newPage();
  await alone.goto(`${trove.origin}/api/show/${ticket}/0?as=text`);
  assert.equal(await alone.evaluate(() => globalThis.origin), 'null');
  await page.context().close();
});

test('what acts unseen is written out on every tab and in every view', async () => {
  const acting = /[\u0080-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;
  const hidden = 'docs://hidden/a\u202eb\u009bc\u200bd';
  const page = await open();
  const everything = () => page.evaluate(() => {
    const attributes = [...document.querySelectorAll('*')].flatMap((one) => ['title', 'aria-label', 'placeholder', 'alt'].map((name) => one.getAttribute(name) ?? ''));
    return [document.title, document.body.textContent, ...attributes].join('\n');
  });
  const tame = async (where) => {
    const text = await everything();
    assert.ok(!acting.test(text), `${where}: ${JSON.stringify(text.match(/.{0,60}[\u0080-\u009f\u200b-\u200f\u202a-\u202e].{0,60}/u)?.[0])}`);
    assert.ok(text.includes('\\u{202e}'), `${where} shows what is there`);
  };
  for (const tab of ['contents', 'model', 'about', 'reads']) {
    await page.view(uri(hidden, tab === 'contents' ? '' : `&tab=${tab}`));
    await page.waitForSelector({ contents: 'iframe.frame', model: '.panel.model pre.box', about: '.panel.about .pairs', reads: '.panel.reads :is(.sheet, .empty)' }[tab]);
    await tame(tab);
    if (process.env.TROVE_SHOTS) await page.screenshot({ path: `${process.env.TROVE_SHOTS}/${tab}.png` });
    if (tab === 'contents') {
      const inside = await (await frame(page, 'main > *')).locator('body').textContent();
      assert.ok(!acting.test(inside) && inside.includes('\\u{202e}'), inside);
    }
  }
  await page.view('activity');
  await page.waitForSelector('td:has-text("hidden/a")');
  if (process.env.TROVE_SHOTS) await page.screenshot({ path: `${process.env.TROVE_SHOTS}/activity.png` });
  await tame('activity');
  for (const view of ['search?q=hostile', 'browse', 'health', 'home', 'conflicts']) {
    await page.view(view);
    assert.ok(!acting.test(await everything()), view);
  }
  await page.context().close();
});

test('a giant text comes in pages', async () => {
  const page = await open();
  await page.view(uri('docs://long/log.txt'));
  await frame(page, '.lines');
  assert.match(await page.innerText('.pager'), /page 1 of 21/);
  await page.click('[aria-label="Next page"]');
  await page.waitForFunction(() => document.querySelector('.pager').innerText.includes('page 2 of'));
  const inner = page.frameLocator('iframe.frame');
  await inner.locator('.numbers', { hasText: /^59\d\d\n/ }).waitFor();
  await isSound(page);
  await page.context().close();
});

test('a template is filled in with what its server offers', async () => {
  const page = await open();
  await page.view('templates');
  await page.click('.picks button:has-text("Log of a day")');
  await page.fill('#v-day', '2026-11-1');
  await page.waitForFunction(() => document.querySelectorAll('#for-day option').length === 4);
  await page.fill('#v-day', '2026-11-14');
  await page.waitForFunction(() => document.querySelector('.made').innerText === 'log://2026-11-14/{level}');
  assert.equal(await page.isDisabled('.filling [type=submit]'), true);
  await page.fill('#v-level', 'error');
  await page.waitForFunction(() => document.querySelector('.made').innerText === 'log://2026-11-14/error');
  await isSound(page);
  await page.click('.filling [type=submit]');
  const inner = await frame(page, '.lines');
  assert.match(await inner.locator('.lines').innerText(), /docs says: this is log:\/\/2026-11-14\/error/);
  await page.context().close();
});

test('a document is edited with what becomes of it beside, and nothing of another is lost', async () => {
  const page = await open();
  await page.view('guide');
  await page.click('.shelves button:has-text("Rust")');
  await page.waitForSelector('.desk textarea');
  assert.equal(await page.inputValue('.desk textarea'), '# Rust\n\nBorrow first.\n');
  await (await frame(page, 'article h1')).getByText('Borrow first.').waitFor();
  await page.fill('.desk textarea', `# Rust\n\nClone **never**. ${HOSTILE}\n`);
  await (await frame(page, 'article strong')).getByText('never').waitFor();
  await page.keyboard.press('Control+s');
  await page.waitForFunction(() => document.querySelector('.desk [role=status]').textContent === 'Saved');
  const file = `${trove.folder}/guide/lang/rust.md`;
  assert.match(readFileSync(file, 'utf8'), /Clone \*\*never/);
  await isSound(page);

  // Somebody else was faster. A page without changes of its own would take over the other text.
  await page.fill('.desk textarea', '# Rust\n\nMine.\n');
  writeFileSync(file, '# Rust\n\nBy another hand.\n');
  await page.click('.desk button[type=submit]');
  await page.waitForFunction(() => document.querySelector('.desk [role=status]').textContent.includes('somebody else changed it'));
  assert.match(readFileSync(file, 'utf8'), /another hand/);
  page.on('dialog', (dialog) => dialog.accept());

  // A new one is served at once.
  await page.click('.shelves button:has-text("New document")');
  await page.waitForFunction(() => document.querySelector('.desk input').value === '');
  await page.fill('.desk input', 'zig');
  await page.fill('.desk textarea', '# Zig\n\nNo hidden control flow.\n');
  await page.click('.desk button[type=submit]');
  await page.waitForSelector('.shelves button:has-text("Zig")');
  await page.view(uri('guide://document/lang/zig'));
  await (await frame(page, 'article')).getByText('No hidden control flow.').waitFor();
  page.wrong.splice(0, page.wrong.length, ...page.wrong.filter((one) => !/409/.test(one)));
  await isSound(page);
  await page.context().close();
});

test('what changes is shown without being asked for', async () => {
  const page = await open();
  await page.view(uri('docs://live/counter'));
  const inner = await frame(page, '.lines');
  const first = await inner.locator('.lines').innerText();
  const hears = page.waitForSelector('.tag.fresh');
  for (let n = 0; n < 50 && !(await page.locator('.tag.fresh').count()); n++) {
    trove.order('update');
    await page.waitForTimeout(200);
  }
  await hears;
  await page.waitForFunction((before) => document.querySelector('iframe.frame')?.isConnected && before, first);
  assert.notEqual(await (await frame(page, '.lines')).locator('.lines').innerText(), first);

  await page.view('browse?q=added');
  await page.waitForSelector('.empty');
  trove.order('list');
  await page.waitForSelector('.row:has-text("Added later")');
  await isSound(page);
  await page.context().close();
});

test('as the model sees it is what the client is answered', async () => {
  const page = await open();
  const calm = (text) => text.replace(/[0-9a-f]{16}/g, 'NONCE').replace(/"timestamp\\?":\\?"[^"]*"/g, 'TIME').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replace(/\\?"cached\\?":(?:true|false),(?:\\?"age_ms\\?":\d+,)?/g, 'CACHED,');
  const name = 'docs://tables/revenue.csv';
  await page.view(uri(name, '&tab=model&client=claude-ai'));
  await page.click('.panel details summary');
  const shown = await page.innerText('.panel details pre');
  const real = await mcp('claude-ai', 'tools/call', { name: 'get_resource', arguments: { uri: name } });
  assert.equal(calm(shown), calm(real));

  await page.selectOption('.panel select', 'codex-mcp-client');
  await page.waitForFunction(() => document.querySelector('.panel').innerText.includes('reads resources by itself'));
  await page.click('.panel details summary');
  assert.equal(await page.innerText('.panel details pre'), await mcp('codex-mcp-client', 'resources/read', { uri: name }));

  await page.view(uri('docs://long/log.txt', '&tab=model&client=codex-mcp-client'));
  await page.waitForSelector('.cut');
  assert.match(await page.innerText('.panel'), /Codex stops here/);
  await isSound(page);
  await page.context().close();
});

test('what a client is given is what it gets', async () => {
  for (const name of ['claude-ai', 'codex-mcp-client', 'nobody']) {
    const { messages } = await trove.api(`client?name=${name}`);
    for (const method of ['server/discover', 'tools/list', 'resources/list', 'resources/templates/list']) {
      assert.equal(messages.find((message) => message.method === method).answer, await mcp(name, method), `${name} ${method}`);
    }
  }
  const page = await open();
  await page.view('clients?name=codex-mcp-client');
  const row = page.locator('tr.chosen');
  assert.match(await row.innerText(), /10,000 tokens/);
  assert.ok(!(await row.innerText()).includes('get_resource'));
  await page.selectOption('.tools select', '2025-06-18');
  await page.locator('.detail summary', { hasText: 'initialize' }).waitFor();
  await isSound(page);
  await page.context().close();
});

test('what policy hides is nowhere on the page, and what it closes says so', async () => {
  const page = await open({ expect: /403|404/ });
  await page.view('search?q=order');
  await page.waitForSelector('.hit');
  await page.view(uri('docs://orders/o-1042.json'));
  await page.waitForSelector('.sorry');
  assert.match(await page.innerText('.badges'), /may not read/);
  assert.match(await page.innerText('.sorry'), /finance/);
  await page.view('search?q=dump');
  await page.waitForSelector('.empty');
  await page.view(uri('docs://archive/dump.bin'));
  await page.waitForSelector('.sorry');
  assert.match(await page.innerText('.sorry'), /Nothing is there/);
  await page.context().close();
});

test('what is in conflict can be chosen, what is missing says what to do', async () => {
  const page = await open({ expect: /404|409/ });
  await page.view(uri('shared://handbook'));
  await page.click('.sorry a:has-text("wiki+shared://handbook")');
  await frame(page, '.lines');
  await page.view(uri('docs://missing'));
  await page.waitForSelector('.sorry li');
  await page.context().close();
});

test('a view that could not be fetched is there when one tries again', async () => {
  const page = await openPage(browser, trove, { expect: /ERR_FAILED/ });
  await page.route('**/views/search.js*', (route) => route.abort(), { times: 1 });
  await page.view('search?q=runbook');
  await page.click('button:has-text("Try again")');
  await page.waitForSelector('.hit');
  await isSound(page);
  await page.context().close();
});

test('of a resource only reads are counted as such', async () => {
  const page = await open();
  const path = 'docs://runbooks/release.md';
  await page.view(uri(path));
  await page.waitForSelector('iframe.frame');
  await page.view(uri(path, '&tab=reads'));
  await page.waitForSelector('.sheet tbody tr');
  const { entries } = await trove.api(`activity?target=${encodeURIComponent(path)}&action=read`);
  assert.ok(entries.length > 0 && entries.every((entry) => entry.action === 'read'), JSON.stringify(entries));
  assert.ok(await page.locator('.sheet tbody tr').count() <= entries.length);
  await page.context().close();
});

test('activity tells what was read, and can be filtered', async () => {
  const page = await open();
  await mcp('cursor-vscode', 'resources/read', { uri: 'docs://runbooks/incident.md' });
  await page.view('activity');
  await page.waitForSelector('td:has-text("cursor-vscode")');
  await page.selectOption('select[aria-label=How]', 'native');
  await page.waitForFunction(() => [...document.querySelectorAll('.activity tbody tr')].every((row) => row.innerText.includes('native')));
  const download = page.waitForEvent('download');
  await page.click('button:has-text("Export")');
  assert.equal((await download).suggestedFilename(), 'trove-activity.jsonl');
  await isSound(page);
  await page.context().close();
});

test('no secret is shown', async () => {
  const page = await open();
  for (const path of ['settings', '', 'health']) {
    await page.view(path);
    assert.ok(!(await page.content()).includes(CANARY), path);
  }
  for (const path of ['settings', 'overview', 'capabilities', 'figures', 'clients']) assert.ok(!JSON.stringify(await trove.api(path)).includes(CANARY), path);
  await page.context().close();
});

test('the keyboard is enough', async () => {
  const page = await open();
  for (const [key, view] of [['b', 'browse'], ['t', 'templates'], ['c', 'clients'], ['e', 'health'], ['h', '']]) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.waitForFunction((name) => location.hash === `#/${name}`, view);
  }
  await page.keyboard.press('?');
  await page.waitForSelector('dialog[open]');
  await isSound(page);
  await page.keyboard.press('Escape');
  await page.keyboard.press('d');
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'light');
  await page.keyboard.press('g');
  await page.keyboard.press('b');
  await page.waitForSelector('.row b');
  await page.keyboard.press('End');
  await page.waitForFunction(() => document.activeElement.getAttribute('aria-activedescendant')?.endsWith(String(document.querySelector('.row').getAttribute('aria-setsize') - 1)));
  await page.keyboard.press('Enter');
  await page.waitForSelector('.resource');
  await page.context().close();
});

test('a small window shows everything too', async () => {
  const page = await open({ viewport: { width: 320, height: 640 } });
  const paths = { '': '.card', browse: '.row b', map: '.area', activity: '.activity', clients: '.clients', conflicts: 'table', 'guide?category=lang&path=rust.md': '.desk', [uri('docs://runbooks/release.md', '&tab=model')]: '.box', 'search?q=runbook': '.hit', templates: '.filling', health: '.tiles', settings: '.sheet', [uri('docs://runbooks/release.md')]: 'iframe.frame' };
  for (const [path, selector] of Object.entries(paths)) {
    await page.view(path);
    await page.waitForSelector(selector);
    const wide = await page.evaluate(() => ['documentElement', 'main'].map((name) => document[name] ?? document.getElementById(name)).map((one) => one.scrollWidth - innerWidth));
    assert.ok(wide.every((more) => more <= 0), `${path} is wider than the window by ${wide}`);
  }
  await isSound(page);
  await page.context().close();
});

test('without Trove the page says so and comes back by itself', async () => {
  const own = await startTrove({});
  const page = await openPage(browser, own, { expect: /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/ });
  await page.waitForSelector('.empty.big');
  await isSound(page);
  await own.stop();
  await page.waitForFunction(() => document.getElementById('pulse').innerText.includes('Not connected'));
  await page.context().close();
});
