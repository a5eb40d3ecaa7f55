// What a client's model gets of a resource: the very answer, and where it would be cut.

import { ask } from '../lib/api.js';
import { fill, h } from '../lib/dom.js';
import { here, keep, to } from '../lib/router.js';
import { bytes, count, visible } from '../lib/text.js';
import { patiently } from '../lib/wait.js';

// What the API gives of a longer text.
const SHOWN = 256 * 1024;

let clients = null;

export async function model(place) {
  const { uri, signal, panel } = place;
  clients ??= await ask('clients', {}, signal);
  const name = here().params.get('client') ?? 'claude-ai';
  const seen = await patiently(panel, 'Asking as the client would', signal, (own) => ask('model', { uri, client: name }, own));
  const choose = (event) => { keep({ client: event.target.value }); model(place); };
  const cut = seen.cuts.filter((one) => one.at !== null).sort((a, b) => a.at - b.at);
  fill(panel,
    h('div.tools', null,
      h('label', null, 'As ', h('select', { onchange: choose }, clients.clients.map(({ client }) => h('option', { value: client.name, selected: client.name === name }, client.title)))),
      h('span.soft', null, seen.request.method === 'tools/call' ? 'whose model only knows tools, so it calls get_resource' : 'whose model reads resources by itself'),
      h('span.fill'),
      h('a.quiet', { href: `/api/raw/${seen.ticket}/0`, download: 'answer.json' }, 'Save answer')),
    h('div.numbers.wide', null,
      h('div', null, h('b', null, `≈ ${count(seen.tokens)}`), h('span', { title: 'one token for every four bytes; clients count with tokenizers of their own' }, 'tokens of text')),
      h('div', null, h('b', null, bytes(seen.text_bytes)), h('span', null, 'of text')),
      h('div', null, h('b', null, bytes(seen.bytes)), h('span', null, 'on the wire')),
      h('div', null, h('b', null, cut.length || 'no'), h('span', null, cut.length === 1 ? 'client would cut it' : 'clients would cut it'))),
    portions(place, seen, name),
    seen.failed ? h('p.note', null, 'This is how the model learns that it failed:') : null,
    h('h2', null, 'What it asks'),
    h('pre.box', { tabIndex: 0 }, JSON.stringify(seen.request, null, 2)),
    h('h2', null, 'What it reads'),
    seen.error ? h('pre.box.text', { tabIndex: 0 }, visible(seen.error)) : blocks(seen.blocks, cut),
    h('details', null, h('summary', null, 'The whole answer, to the byte'), h('pre.box', { tabIndex: 0 }, lines(seen.answer, seen.bytes))),
    h('p.soft.small', null, 'The code that answers clients made this. Only the number after ', h('code', null, '[trove'), ' differs from call to call. ', h('a', { href: to('clients', { name }) }, 'What else this client is given')));
}

const percent = (share) => (share >= 0.1 || share === 0 ? `${Math.round(100 * share)} %` : `${(100 * share).toPrecision(1)} %`);

/** How much of the whole file each client's model gets of one answer, as bars. */
function portions({ known, reading }, seen, name) {
  const answered = seen.blocks.reduce((all, block) => all + (block.length ?? 0), 0);
  if (!answered || seen.failed || seen.error) return null;
  const size = reading?.bytes ?? known.entry?.size ?? 0;
  // What stands around the text in an answer is part of it too.
  const whole = Math.max(size, answered);
  const own = clients.clients.find(({ client }) => client.name === name)?.client.title;
  const rows = seen.cuts.map((one) => ({ ...one, gets: Math.min(1, (one.at ?? answered) / whole) }));
  rows.sort((a, b) => (b.client === own) - (a.client === own) || a.gets - b.gets);
  const [first] = rows;
  const isWhole = rows.every((one) => one.gets >= 0.995);
  if (isWhole) return h('p.soft', null, rows.length ? 'Every client of this kind gets all of it in one answer.' : '');
  // Clients that get as much share a row.
  const groups = new Map();
  for (const one of rows) {
    const key = one.client === own ? own : one.gets;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const rest = seen.request.method === 'tools/call' ? 'It asks for the rest with offset, or for the lines it needs with grep.' : 'It has no way to ask for the rest; a smaller resource or a template helps.';
  return h('section.portions', { 'aria-label': 'What each client gets' },
    h('h2', null, 'What each client gets of it in one answer'),
    first && first.gets < 0.995 ? h('p.note', null, h('b', null, `${first.client} gets ${percent(first.gets)} of this file. `), rest) : null,
    h('dl', null, [...groups.values()].map((all) => [all, all[0]]).map(([all, one]) => [
      h('dt', null, one.client === own ? h('b', null, own) : all.map(({ client }) => client).join(', ')),
      h('dd', null, meter(one.gets), h('span', null, percent(one.gets)), h('span.soft', null, `≈ ${count(Math.ceil((one.at ?? answered) / 4))} tokens${one.at === null ? '' : ', cut here'}`)),
    ])));
}

function meter(share) {
  const part = h('i');
  part.style.width = `${Math.max(0.4, 100 * share)}%`;
  return h('span.meter', { 'aria-hidden': 'true' }, part);
}

/** The text of every block, with a line where a client would stop. */
function blocks(all, cuts) {
  let passed = 0;
  return all.map((block) => {
    if (typeof block.text !== 'string') return h('p.note', null, `${visible(block.type)} ${visible(block.mime ?? '')}${block.data_bytes ? `, ${bytes(block.data_bytes)} of base64` : ''}`);
    const from = passed;
    passed += block.length;
    const inside = cuts.filter((one) => one.at > from && one.at - from < block.text.length);
    const parts = [];
    let at = 0;
    for (const one of inside) {
      parts.push(lines(block.text.slice(at, one.at - from)), h('span.cut', null, `${one.client} stops here`));
      at = one.at - from;
    }
    parts.push(lines(block.text.slice(at), block.bytes));
    return h('pre.box.text', { tabIndex: 0 }, parts);
  });
}

/** Text with its lines; `whole` is its length in bytes before Trove's page cut it. */
function lines(text, whole = 0) {
  const missing = whole - new TextEncoder().encode(text).length;
  return missing > 0 && whole > SHOWN ? `${text}\n… ${bytes(missing)} more are not drawn here; save the answer to have them` : text;
}
