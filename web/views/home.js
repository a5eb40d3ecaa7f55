// Home: a card for each server.

import { add, approve, remove, restart } from '../lib/acts.js';
import { ask } from '../lib/api.js';
import { fill, h, later, svg } from '../lib/dom.js';
import { to } from '../lib/router.js';
import { isWell, memory, others, standing } from '../lib/servers.js';
import { copier, count, many, millis, span, visible } from '../lib/text.js';

// What is part of Trove, and what it holds.
const OWN = { trove: ['Trove itself', 'health, settings, your standing'], guide: ['Guide', 'guidelines, runbooks, requirements of your own'] };

export async function show({ signal }) {
  const node = h('section.page');
  let servers = [];
  const draw = (overview) => {
    servers = others(overview.health);
    // A menu that is open stays open.
    if (!node.querySelector('.more[open]')) fill(node, head(overview), cards(overview));
  };
  draw(await ask('overview', {}, signal));
  const again = later(async () => {
    try { draw(await ask('overview', {}, signal)); } catch { /* the next event tries again */ }
  }, 150);
  const actions = () => [{ title: 'Add a server', act: add }, ...servers.flatMap(acts)];
  return { node, actions, hear: (name) => (name === 'health' || name === 'lists') && again() };
}

const acts = ({ id }) => [{ title: `Restart ${id}`, act: () => restart(id) }, { title: `Remove ${id}`, act: () => remove(id) }];

/** What can be done to a server. */
function menu(source, waiting) {
  const all = [
    waiting.includes(source.id) ? ['Let it run …', () => approve(source.id)] : null,
    // Behind a folder there is no program.
    waiting.includes(source.id) || source.transport === 'folder' ? null : ['Restart', () => restart(source.id)],
    ['Remove …', () => remove(source.id)],
  ].filter(Boolean);
  const box = h('details.more', { onkeydown(event) { if (event.key === 'Escape') { box.open = false; box.firstChild.focus(); } } },
    h('summary', { 'aria-label': `What to do with ${source.id}` }, '⋯'),
    h('div.choices', null, all.map(([words, act]) => h('button.plain', { type: 'button', onclick() { box.open = false; act(); } }, words))));
  return box;
}

function head({ health, resources, templates, collisions }) {
  const servers = others(health);
  return h('header.head', null,
    h('div.line.title', null, h('h1', null, 'Everything your servers hold'), h('span.fill'), h('button', { type: 'button', onclick: add }, 'Add a server')),
    h('p.lead', null,
      many(servers.length, 'server'), ' · ', h('a', { href: to('browse') }, many(resources, 'resource')), ' · ',
      h('a', { href: to('templates') }, many(templates, 'template')),
      collisions ? [' · ', h('a', { href: to('conflicts') }, many(collisions, 'name', 'names'), ' in conflict')] : null,
      h('span.soft', null, ` · running for ${span(health.uptime_seconds)}`)));
}

function cards(overview) {
  const servers = others(overview.health);
  const own = overview.health.sources.filter((source) => source.transport === 'builtin').sort((a, b) => (a.id === 'trove') - (b.id === 'trove'));
  if (!servers.length) return [empty(), h('div.cards', null, own.map((source) => card(source, overview)))];
  const order = (source) => (isWell(source) ? 1 : 0);
  servers.sort((a, b) => order(a) - order(b) || a.id.localeCompare(b.id));
  return h('div.cards', null, [...servers, ...own].map((source) => card(source, overview)));
}

function card(source, overview) {
  const [shade, word] = standing(source, overview.waiting);
  const isOwn = source.transport === 'builtin';
  const kept = memory(source);
  return h('article.card', { 'data-state': shade },
    h('header', null,
      h('h2', null, h('a', { href: source.id === 'guide' && isOwn ? to('guide') : to('browse', { server: source.id }) }, isOwn ? OWN[source.id]?.[0] ?? source.id : visible(source.id))),
      h('span.line', null, h(`span.state.${shade}`, null, h(`i.dot.${shade}`), word), isOwn ? null : menu(source, overview.waiting))),
    h('p.soft.small', null, isOwn ? OWN[source.id]?.[1] ?? 'part of Trove' : [visible(source.server ?? '—'), ` · ${source.transport}`, source.protocol ? ` · ${source.protocol}` : '']),
    h('div.numbers', null,
      number(source.resources, 'resources'), number(source.templates, 'templates'),
      source.tools ? number(source.tools, 'tools') : null, source.prompts ? number(source.prompts, 'prompts') : null,
      source.latency_ms === undefined ? null : h('div.latency', { title: 'how long its answers took lately' }, spark(overview.latency[source.id] ?? []), h('span', null, millis(source.latency_ms)))),
    kept ? h('p.note', null, kept) : null,
    source.from_tools && h('p.note', null, visible(source.from_tools)),
    (source.omissions ?? []).map((text) => h('p.note', null, isOwn ? 'Not served: ' : 'Its list is not whole: ', visible(text))),
    source.warning ? h('p.note', null, visible(source.warning)) : null,
    source.last_error ? trouble(source, overview) : null);
}

function number(value, what) {
  return h('div', null, h('b', null, count(value)), h('span', null, value === 1 ? what.slice(0, -1) : what));
}

/** What went wrong, and what to do about it. */
function trouble(source, { waiting, words }) {
  const isWaiting = waiting.includes(source.id);
  const mend = isWaiting
    ? ['Nothing of it was started yet. ', h('button.quiet', { type: 'button', onclick: () => approve(source.id) }, 'See what it runs')]
    : isWell(source) ? ['It answers again.']
      : ['Trove goes on trying. ', h('a', { href: to('health', { server: source.id }) }, 'Read its log'), ', or run ', h('code', null, visible(source.remedy ?? 'trove doctor')), ' ', copier('Copy', source.remedy ?? 'trove doctor')];
  return h(`div.trouble${isWell(source) || isWaiting ? '.past' : ''}`, null, h('p', null, visible(source.last_error)),
    words[source.id] ? h('p.mono.said', { title: 'the last line it wrote to its stderr' }, visible(words[source.id])) : null, h('p.soft', null, mend));
}

/** A small curve. */
export function spark(values, width = 96, height = 22) {
  const most = Math.max(...values, 1e-9);
  const x = (n) => (values.length > 1 ? (n / (values.length - 1)) * (width - 2) + 1 : width / 2);
  const points = values.map((value, n) => `${x(n).toFixed(1)},${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`);
  return svg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true' },
    values.length > 1 ? svg('polyline', { points: points.join(' ') }) : svg('line', { x1: 1, x2: width - 1, y1: height - 2, y2: height - 2, class: 'none' }));
}

const EXAMPLE = '[servers.docs]\ncommand = "npx"\nargs = ["-y", "@modelcontextprotocol/server-filesystem", "."]\n';

function empty() {
  return h('section.empty.big', null,
    h('h2', null, 'No servers yet'),
    h('p', null, 'Trove gathers the resources of the MCP servers you use. Take over those of your editor:'),
    h('div.line', null, h('pre', null, 'trove import'), copier('Copy', 'trove import')),
    h('p', null, h('button', { type: 'button', onclick: add }, 'Add one here'), ', or put one into ', h('code', null, 'trove.toml'), '; the change is taken over at once:'),
    h('div.line', null, h('pre', null, EXAMPLE), copier('Copy', EXAMPLE)),
    h('p', null, 'Until then there is what Trove says about itself: ', h('a', { href: to('resource', { uri: 'info://health' }) }, 'info://health'), ', ',
      h('a', { href: to('resource', { uri: 'config://server' }) }, 'config://server'), '.'));
}
