// Activity: what was asked, through every door, as it happens.

import { ask } from '../lib/api.js';
import { fill, h, later } from '../lib/dom.js';
import { lanes } from '../lib/lanes.js';
import { here, keep, resource } from '../lib/router.js';
import { ago, bytes, clock, count, millis, visible } from '../lib/text.js';

const EVERY = 2000;

export async function show({ params, signal }) {
  const body = h('tbody');
  const total = h('span.soft', { role: 'status' });
  const hint = h('div');
  const time = h('div');
  let entries = [];
  const filter = () => ({ q: (here().params.get('q') ?? '').toLowerCase(), via: here().params.get('via') ?? '', only: here().params.get('only') ?? '' });
  const fits = (entry, { q, via, only }) => (!q || JSON.stringify(entry).toLowerCase().includes(q)) && (!via || entry.via === via) && (!only || entry.outcome !== 'done');
  async function load() {
    const answer = await ask('activity', { limit: 500 }, signal);
    entries = answer.entries;
    draw(answer.enabled);
  }
  function draw(enabled = true) {
    const shown = entries.filter((entry) => fits(entry, filter()));
    fill(total, `${count(shown.length)} of the last ${count(entries.length)}`);
    fill(time, lanes(shown));
    fill(body, shown.map(row));
    fill(hint, shown.length ? null : enabled ? h('div.empty', null, h('h2', null, entries.length ? 'Nothing fits' : 'Quiet so far'),
      h('p', null, entries.length ? 'Nothing of late has all that was chosen.' : 'Reads, tool calls and prompts appear here as they happen, from every client and from this page.'))
      : h('div.empty', null, h('h2', null, 'Nothing is written down'), h('p', null, 'Set ', h('code', null, 'enabled = true'), ' under ', h('code', null, '[audit]'), ' in trove.toml to see who asks for what.')));
  }
  const change = (changes) => { keep(changes); draw(); };
  await load();
  const timer = setInterval(() => { if (!document.hidden) load().catch(() => {}); }, EVERY);
  signal.addEventListener('abort', () => clearInterval(timer));
  const now = filter();
  return {
    title: 'Activity',
    node: h('section.page', null,
      h('header.head', null, h('h1', null, 'Activity'), h('p.lead', null, 'Who asked for what, and how it ended. Contents are never written down.')),
      h('div.tools', null,
        h('input.narrow', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter', value: now.q, oninput: later((event) => change({ q: event.target.value }), 80) }),
        h('select', { 'aria-label': 'How', onchange: (event) => change({ via: event.target.value }) }, [['', 'every way'], ['native', 'native'], ['bridge', 'bridge'], ['code', 'program'], ['search', 'search'], ['web', 'this page'], ['cli', 'command line']]
          .map(([value, words]) => h('option', { value, selected: value === now.via }, words))),
        h('label', null, h('input', { type: 'checkbox', checked: !!now.only, onchange: (event) => change({ only: event.target.checked ? 'failed' : '' }) }), ' only what failed'),
        total, h('span.fill'), h('button.quiet', { type: 'button', onclick: () => save(entries.filter((entry) => fits(entry, filter()))) }, 'Export')),
      time,
      h('table.sheet.activity', null, h('thead', null, h('tr', null, ['When', 'What', 'Of', 'How', 'Client', 'Outcome', 'Bytes', 'Took'].map((name) => h('th', { scope: 'col' }, name)))), body), hint),
  };
}

function row(entry) {
  const isUri = entry.action === 'read' && entry.target;
  return h('tr', null,
    h('td', { title: entry.at }, clock(entry.at), h('span.soft', null, ` ${ago(Date.parse(entry.at) / 1000)}`)), h('td', null, visible(entry.action ?? entry.event ?? '')),
    h('td.mono.target', null, isUri ? h('a', { href: resource(entry.target) }, visible(entry.target)) : visible(entry.target ?? '')),
    h('td', null, `${entry.via ?? ''}${entry.door ? ` · ${entry.door}` : ''}`), h('td', null, visible(entry.client ?? '')),
    h('td', null, entry.error ? h('span.bad', null, entry.error) : h('span.good', null, entry.outcome ?? ''), entry.cache === 'hit' ? h('span.soft', null, ' cache') : null),
    h('td.number', null, entry.bytes === undefined ? '' : bytes(entry.bytes)), h('td.number', null, entry.ms === undefined ? '' : millis(entry.ms)));
}

function save(entries) {
  const text = entries.map((entry) => JSON.stringify(entry)).join('\n');
  const link = h('a', { href: URL.createObjectURL(new Blob([`${text}\n`], { type: 'application/x-ndjson' })), download: 'trove-activity.jsonl' });
  link.click();
  URL.revokeObjectURL(link.href);
}
