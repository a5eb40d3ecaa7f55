// Map: everything at once, as areas by server and type.

import { ask } from '../lib/api.js';
import { fill, h } from '../lib/dom.js';
import { here, keep, to } from '../lib/router.js';
import { ago, bytes, count, kind, many, visible } from '../lib/text.js';
import { layout } from '../lib/treemap.js';

const DAY = 24 * 3600;
// The newer something of it was changed, the stronger its colour.
const AGES = [[DAY, 'age4', 'in the last day'], [7 * DAY, 'age3', 'in the last week'], [31 * DAY, 'age2', 'in the last month'], [366 * DAY, 'age1', 'in the last year'], [Infinity, 'age0', 'longer ago, or not known']];
const MEASURES = { count: 'number', bytes: 'size' };
const HEAD = 22;

export async function show({ signal }) {
  const board = h('div.map');
  const tools = h('div.tools');
  const chips = h('div.chips', { role: 'group', 'aria-label': 'One server alone' });
  let areas = [];
  async function load() { ({ areas } = await ask('map', {}, signal)); }

  function measure() {
    return here().params.get('by') in MEASURES ? here().params.get('by') : 'count';
  }

  function draw() {
    const by = measure();
    const choose = (name) => { keep({ by: name === 'count' ? '' : name }); draw(); };
    fill(tools,
      h('div.segments', { role: 'group', 'aria-label': 'Area by' }, Object.entries(MEASURES).map(([name, words]) =>
        h('button', { type: 'button', 'aria-pressed': String(name === by), onclick: () => choose(name) }, `by ${words}`))),
      h('div.key', null, h('span.soft', null, 'changed'), AGES.map(([, shade, words]) => h('span', null, h(`i.${shade}`), words))));
    const width = board.clientWidth;
    const height = board.clientHeight;
    const all = grouped(areas, by);
    const one = here().params.get('server');
    const servers = all.some(({ server }) => server === one) ? all.filter(({ server }) => server === one) : all;
    const pick = (server) => { keep({ server: server === one ? '' : server }); draw(); };
    fill(chips, all.length > 1 ? all.map(({ server, weight }) => h('button.chip', { type: 'button', 'aria-pressed': String(server === one), onclick: () => pick(server) },
      visible(server), ' ', h('span.soft', null, by === 'bytes' ? bytes(weight) : count(weight)))) : null);
    if (!servers.length) {
      fill(board, h('div.empty', null, h('h2', null, 'Nothing to draw'), h('p', null, by === 'bytes' ? 'No server says how large its resources are.' : 'No server lists a resource yet.')));
      return;
    }
    fill(board, layout(servers, 0, 0, width, height).map((one) => region(one, by)));
  }

  const eye = new ResizeObserver(() => draw());
  signal.addEventListener('abort', () => eye.disconnect());
  await load();
  return {
    title: 'Map',
    node: h('section.page.mapped', null, h('header.head', null, h('h1', null, 'Map'), h('p.lead', null, 'Everything at once: an area for each server and type, as large as what is there. Choose one to browse it.')), tools, chips, board),
    ready: () => eye.observe(board),
    update: () => { draw(); return true; },
    async hear(name, data) { if (name === 'lists' && data.resources) { await load(); draw(); } },
  };
}

function grouped(areas, by) {
  const servers = new Map();
  for (const area of areas) {
    const server = servers.get(area.server) ?? { server: area.server, weight: 0, types: [] };
    server.types.push({ ...area, weight: area[by] });
    server.weight += area[by];
    servers.set(area.server, server);
  }
  return [...servers.values()].filter((server) => server.weight > 0).sort((a, b) => b.weight - a.weight);
}

function region({ thing, x, y, w, h: height }, by) {
  const hasHead = height > 3 * HEAD && w > 60;
  const top = hasHead ? HEAD : 0;
  const node = h('section.region', { 'aria-label': thing.server },
    hasHead ? h('h2', null, visible(thing.server)) : null,
    layout(thing.types, 0, top, w - 2, height - top - 2).map((one) => tile(one, thing.server, by)));
  place(node, x, y, w, height);
  return node;
}

function tile({ thing, x, y, w, h: height }, server, by) {
  const amount = by === 'bytes' ? bytes(thing.bytes) : count(thing.count);
  const name = kind(thing.type) || thing.type;
  const age = thing.newest === null ? 'no time known' : `newest ${ago(thing.newest)}`;
  const words = `${name} ${amount} of ${server}: ${many(thing.count, 'resource')}, ${bytes(thing.bytes)}, ${age}`;
  const node = h('a.area', { href: to('browse', { server, type: thing.type }), class: shade(thing.newest), title: words, 'aria-label': words },
    w > 54 && height > 34 ? [h('b', null, name), ' ', h('span', null, amount)] : null);
  place(node, x, y, w, height);
  return node;
}

function shade(newest) {
  if (newest === null) return 'age0';
  const age = Date.now() / 1000 - newest;
  return AGES.find(([end]) => age < end)[1];
}

function place(node, x, y, w, height) {
  Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${height}px` });
}
