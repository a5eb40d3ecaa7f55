// One resource: its contents in a frame that can do nothing, what a model gets of it, what
// is known of it, who read it.

import { ask } from '../lib/api.js';
import { fill, h, later, say } from '../lib/dom.js';
import { frame } from '../lib/glance.js';
import { here, keep, to } from '../lib/router.js';
import { skeleton, sorry } from '../lib/sorry.js';
import { ago, bytes, clock, copier, count, kind, many, millis, visible } from '../lib/text.js';
import { patiently } from '../lib/wait.js';
import { model } from './model.js';

const TABS = [['contents', 'Contents'], ['model', 'As the model sees it'], ['about', 'Metadata'], ['reads', 'Reads']];

export async function show({ params, signal }) {
  const uri = params.get('uri') ?? '';
  const known = await ask('resource', { uri }, signal);
  const panel = h('div.panel', { role: 'tabpanel', id: 'panel', 'aria-labelledby': 'tab-contents' });
  const tabs = h('div.tabs', { role: 'tablist', 'aria-label': 'What to show' });
  const badges = h('p.badges');
  const place = { uri, known, signal, panel, badges, reading: null, turn: 0, matches: h('div.matches') };

  async function draw() {
    const tab = here().params.get('tab') ?? 'contents';
    for (const button of tabs.children) {
      const on = button.dataset.tab === tab;
      button.setAttribute('aria-selected', String(on));
      button.tabIndex = on ? 0 : -1;
    }
    panel.setAttribute('aria-labelledby', `tab-${tab}`);
    panel.className = `panel ${tab}`;
    place.turn += 1;
    const { turn } = place;
    const waiting = setTimeout(() => fill(panel, skeleton('Loading')), 80);
    try {
      await { contents, model, about, reads }[tab]?.(place);
    } catch (error) {
      if (signal.aborted || turn !== place.turn) return;
      fill(panel, sorry(error, () => { place.reading = null; draw(); }));
    } finally {
      clearTimeout(waiting);
    }
  }
  fill(tabs, TABS.map(([name, title]) => h('button', {
    type: 'button', role: 'tab', id: `tab-${name}`, 'data-tab': name, 'aria-controls': 'panel', onclick() { keep({ tab: name === 'contents' ? '' : name }); draw(); },
  }, title)));
  tabs.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const all = [...tabs.children];
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
    next.click();
  });
  facts(place);
  const again = later(async () => {
    place.reading = null;
    await draw();
    badges.prepend(h('span.tag.fresh', null, 'changed just now'));
    say('The resource has changed and was read again');
  }, 100);
  return {
    title: visible(known.name ?? uri),
    watch: uri,
    node: h('section.resource', null, head(place, badges), tabs, panel),
    ready: draw,
    hear: (name, data) => name === 'updated' && data.uri === uri && again(),
    shade: () => (here().params.get('tab') ?? 'contents') === 'contents' && draw(),
    update(now) {
      if (now.get('uri') !== uri) return false;
      draw();
      return true;
    },
  };
}

function head({ uri, known }, badges) {
  const call = JSON.stringify({ name: 'get_resource', arguments: { uri } });
  const line = `trove read ${/^[\w:/.+@%?=&,~#-]+$/.test(uri) && !uri.includes('&') ? uri : `'${uri.replaceAll("'", "'\\''")}'`}`;
  return h('header.head', null,
    h('h1', null, visible(known.name ?? uri)),
    h('p.uri.mono', null, visible(uri)),
    known.description ? h('p.lead', null, visible(known.description)) : null,
    badges,
    h('div.copies', { role: 'group', 'aria-label': 'Copy' }, 'Copy',
      copier('URI', uri), copier('Tool call', call, 'Copy the call a model would make'), copier('Command', line, `Copy: ${line}`)));
}

/** What is known before and after reading. */
function facts({ known, badges, reading }) {
  const server = reading?.server ?? known.server;
  const type = reading?.parts.length === 1 ? reading.parts[0].type : known.type;
  fill(badges,
    server ? h('a.tag', { href: to('browse', { server }) }, visible(server)) : null,
    type ? h('span.tag', null, kind(type)) : null,
    reading ? h('span.tag', null, bytes(reading.bytes)) : null,
    known.closed ? h('span.tag.bad', null, 'you may not read it') : null,
    known.listed ? null : h('span.tag', { title: 'no list names it; it was found by a template, its scheme or its server' }, reading ? `found by ${reading.found_by}` : 'not listed'),
    reading ? h('span.soft', null, reading.stale ? 'its server fails; kept from ' : 'read ', ago(reading.fetched_at), reading.cached ? ', from the cache' : ` in ${millis(reading.took_ms)}`) : null);
}

// --- contents

async function contents(place) {
  const { uri, signal, panel } = place;
  const whom = place.known.server ? `Asking ${visible(place.known.server)}` : 'Asking its server';
  place.reading ??= await patiently(panel, whom, signal, (own) => ask('contents', { uri }, own));
  facts(place);
  const { reading } = place;
  if (!reading.parts.length) {
    return fill(panel, h('div.empty', null, h('h2', null, 'It holds nothing'), h('p', null, 'Its server answered without any contents.')));
  }
  const now = here().params;
  const nth = Math.min(Number(now.get('part') ?? 0) || 0, reading.parts.length - 1);
  const part = reading.parts[nth];
  const look = part.looks.includes(now.get('as')) ? now.get('as') : part.looks[0];
  const pages = part.pages[part.looks.indexOf(look)];
  const page = Math.min(Number(now.get('page') ?? 0) || 0, pages - 1);
  const change = (changes) => { keep({ line: '', ...changes }); contents(place); };
  const theme = document.documentElement.dataset.theme;
  const line = look === 'text' ? now.get('line') ?? '' : '';
  const src = `/api/show/${reading.ticket}/${nth}?${new URLSearchParams({ as: look, page, theme, line })}${line ? '#at' : ''}`;
  const hasText = part.looks.includes('text');
  fill(panel,
    h('div.tools', null,
      reading.parts.length > 1 ? h('select', { 'aria-label': 'Part', onchange: (event) => change({ part: event.target.value, as: '', page: '', find: '' }) },
        reading.parts.map((one, n) => h('option', { value: n, selected: n === nth }, `${n + 1} of ${reading.parts.length}: ${visible(one.uri)}`))) : null,
      part.looks.length > 1 ? h('div.segments', { role: 'group', 'aria-label': 'Form' }, part.looks.map((one) =>
        h('button', { type: 'button', 'aria-pressed': String(one === look), onclick: () => change({ as: one, page: '' }) }, one[0].toUpperCase() + one.slice(1)))) : null,
      pages > 1 ? h('div.pager', null,
        h('button.quiet', { type: 'button', disabled: page === 0, onclick: () => change({ page: page - 1 || '' }), 'aria-label': 'Page before' }, '‹'),
        h('span.soft', null, `page ${count(page + 1)} of ${count(pages)}`),
        h('button.quiet', { type: 'button', disabled: page + 1 >= pages, onclick: () => change({ page: page + 1 }), 'aria-label': 'Next page' }, '›')) : null,
      h('span.fill'),
      hasText ? finder(place, nth) : null,
      h('button.quiet', { type: 'button', onclick() { place.reading = null; contents(place); } }, 'Read again'),
      h('a.quiet', { href: `/api/raw/${reading.ticket}/${nth}`, download: '' }, 'Save')),
    part.summary ? summary(part.summary) : null,
    hasText ? place.matches : null,
    frame(src, part));
  if (hasText) lookFor(place, nth);
}

/** Finds lines in a long text, by the search that a model has. */
function finder(place, nth) {
  const find = later(() => lookFor(place, nth), 150);
  return h('input.narrow', {
    type: 'search', placeholder: 'Find in it', 'aria-label': 'Find in it, a regular expression', value: here().params.get('find') ?? '', spellcheck: false,
    title: 'A regular expression, matched as get_resource matches `grep`',
    oninput(event) { keep({ find: event.target.value }); find(); },
  });
}

async function lookFor(place, nth) {
  const { matches, reading, signal } = place;
  const q = here().params.get('find') ?? '';
  const asked = `${reading.ticket} ${nth} ${q}`;
  if (matches.dataset.asked === asked) return;
  matches.dataset.asked = asked;
  if (!q) return fill(matches);
  const found = await ask(`grep/${reading.ticket}/${nth}`, { q }, signal).catch((error) => ({ error }));
  if (signal.aborted || matches.dataset.asked !== asked) return;
  if (found.error) return fill(matches, h('p.note', { role: 'status' }, visible(found.error.message)));
  const go = (hit) => { keep({ as: 'text', page: hit.page || '', line: hit.line }); contents(place); };
  const said = found.matched ? `${many(found.matched, 'line')} of ${count(found.lines)}` : `None of ${many(found.lines, 'line')}`;
  fill(matches,
    h('p.soft', { role: 'status' }, said, found.matched > found.shown ? `, the first ${count(found.shown)} shown` : '', found.whole ? '' : '. Narrow it down to see all.'),
    h('ol', null, found.hits.map((hit) => h('li', null, h('button.plain', { type: 'button', onclick: () => go(hit) }, h('b', null, count(hit.line)), h('code', null, visible(hit.text)))))));
}

function summary(value) {
  const entries = Object.entries(value).filter(([, one]) => one !== null && typeof one !== 'object');
  return h('dl.pairs', null, entries.map(([name, one]) => [h('dt', null, visible(name)), h('dd', null, visible(one))]));
}

// --- metadata and reads

async function about({ known, panel, uri }) {
  const entry = JSON.stringify(known.entry, null, 2);
  fill(panel,
    known.listed ? [
      h('div.tools', null, h('h2', null, 'As its server lists it'), h('span.fill'), copier('Copy', entry)),
      h('pre.box', { tabIndex: 0 }, entry),
    ] : h('div.empty', null, h('h2', null, 'No list names it'), h('p', null, 'It can be read all the same: a template, its scheme or its name tells whose it is.')),
    h('h2', null, 'In other words'),
    h('dl.pairs', null,
      h('dt', null, 'To a client with resources'), h('dd.mono', null, JSON.stringify({ method: 'resources/read', params: { uri } })),
      h('dt', null, 'To a client with tools'), h('dd.mono', null, JSON.stringify({ method: 'tools/call', params: { name: 'get_resource', arguments: { uri } } }))));
}

async function reads({ uri, signal, panel }) {
  const { enabled, entries } = await ask('activity', { target: uri, action: 'read', limit: 200 }, signal);
  fill(panel, !enabled ? h('div.empty', null, h('h2', null, 'Nothing is written down'), h('p', null, 'The audit log is switched off: ', h('code', null, 'audit.enabled'), ' in Settings.'))
    : !entries.length ? h('div.empty', null, h('h2', null, 'Nobody has read it yet'), h('p', null, 'Reads through every door are noted here: who, how, how long it took.'))
      : [h('p.soft', null, `The last ${many(entries.length, 'time')}:`), h('table.sheet', null,
        h('thead', null, h('tr', null, ['When', 'How', 'Client', 'Outcome', 'Bytes', 'Took', 'Cache'].map((name) => h('th', { scope: 'col' }, name)))),
        h('tbody', null, entries.map((entry) => h('tr', null,
          h('td', { title: entry.at }, `${ago(Date.parse(entry.at) / 1000)}, ${clock(entry.at)}`), h('td', null, `${entry.via} · ${entry.door}`), h('td', null, visible(entry.client ?? '')),
          h('td', null, entry.error ? h('span.bad', null, entry.error) : entry.outcome), h('td.number', null, entry.bytes === undefined ? '' : bytes(entry.bytes)),
          h('td.number', null, millis(entry.ms)), h('td', null, entry.cache ?? '')))))]);
}
