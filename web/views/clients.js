// Clients: what each would be given, made by the code that answers it.

import { ask } from '../lib/api.js';
import { fill, h } from '../lib/dom.js';
import { here, keep, to } from '../lib/router.js';
import { bytes, copier, count, many, visible } from '../lib/text.js';

export async function show({ params, signal }) {
  const body = h('div');
  async function draw() {
    const now = here().params;
    const version = now.get('version') ?? undefined;
    const name = now.get('name');
    const { clients, versions, checked, version: spoken } = await ask('clients', { version }, signal);
    const choose = h('label', null, 'Protocol ', h('select', { onchange(event) { keep({ version: event.target.value }); draw(); } },
      versions.map((one) => h('option', { value: one, selected: one === spoken }, one))));
    fill(body, h('div.tools', null, choose, h('span.fill'), h('span.soft', null, `what is known of clients was checked on ${checked}`)), table(clients, name),
      name ? await detail(name, spoken, signal) : h('p.soft', null, 'Choose a client to see every message it gets when it connects.'));
  }
  await draw();
  return {
    title: 'Clients',
    node: h('section.page', null, h('header.head', null, h('h1', null, 'What your clients are given'),
      h('p.lead', null, 'Clients whose model cannot open resources get tools that can. The answers below come from the code that answers the client.')), body),
    update: () => { draw(); return true; },
    hear: (name, data) => name === 'lists' && data.tools && draw(),
  };
}

function takes(client) {
  const limits = client.takes;
  if (!limits) return h('span.soft', null, 'not known');
  return Object.entries(limits).map(([what, n]) => (what === 'bytes' ? bytes(n) : `${count(n)} ${what}`)).join(' / ');
}

/** What a list costs, beside the dearest. */
function cost(tokens, most) {
  const part = h('i');
  part.style.width = `${(100 * tokens) / most}%`;
  return h('span.cost', null, h('span.meter', { 'aria-hidden': 'true' }, part), `≈ ${count(tokens)} tokens`);
}

function table(clients, chosen) {
  const most = Math.max(1, ...clients.map(({ tokens }) => tokens));
  return h('table.sheet.clients', null,
    h('thead', null, h('tr', null, ['Client', 'Reads resources', 'Uses templates', 'Tools it is given', 'Their list costs', 'Takes of one answer'].map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', null, clients.map(({ client, tools, tokens }) => h('tr', { class: client.name === chosen ? 'chosen' : '' },
      h('th', { scope: 'row' }, h('a', { href: to('clients', { name: client.name, version: here().params.get('version') }) }, client.title), h('span.mono.soft.small', null, client.name)),
      h('td', null, yes(client.reads)), h('td', null, yes(client.templates)),
      h('td', null, tools.length ? tools.slice(0, 4).map((tool) => [h('code', null, visible(tool)), ' ']) : h('span.soft', null, 'none'), tools.length > 4 ? h('span.soft', null, `and ${count(tools.length - 4)} more`) : null),
      h('td', null, cost(tokens, most)), h('td', null, takes(client))))));
}

const yes = (is) => (is ? h('span.good', null, 'by itself') : h('span.soft', null, 'through tools'));

async function detail(name, version, signal) {
  const { messages, client } = await ask('client', { name, version }, signal);
  return h('section.detail', { 'aria-label': `What ${client?.title ?? name} gets` }, h('h2', null, `What ${client?.title ?? visible(name)} gets when it connects`),
    messages.map((message) => h('details', null,
      h('summary', null, h('code', null, message.method), h('span.soft', null, ` ${bytes(message.bytes)}, ≈ ${many(message.tokens, 'token')}${message.has_more ? ', first page' : ''}`)),
      h('div.line', null, copier('Copy', message.answer)),
      h('pre.box', { tabIndex: 0 }, pretty(message.answer)))));
}

const MOST = 100_000;

function pretty(text) {
  let shown = text;
  try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* as it is */ }
  const safe = shown.slice(0, MOST).split('\n').map(visible).join('\n');
  return shown.length > MOST ? `${safe}\n… ${count(shown.length - MOST)} more characters` : safe;
}
