// Browse: a tree of places, a list of any length, and what to choose by.

import { ask } from '../lib/api.js';
import { fill, h, later, say } from '../lib/dom.js';
import { glance } from '../lib/glance.js';
import { list } from '../lib/list.js';
import { go, here, keep, resource } from '../lib/router.js';
import { ago, bytes, count, kind, many, visible } from '../lib/text.js';

const FACETS = [['server', 'Server'], ['scheme', 'Scheme'], ['type', 'Type'], ['size', 'Size'], ['age', 'Changed']];
// The columns of a row, and by what a click on the head of one puts them in order.
const COLUMNS = [['what', 'Name', 'name'], ['kind', 'Type', ''], ['size', 'Size', 'size'], ['age', 'Changed', 'modified'], ['server', 'Server', '']];
/** From this width on there is room for a resource beside the list. */
const NARROW = matchMedia('(max-width: 860px)');
const WIDE = matchMedia('(min-width: 1200px)');
const SORTS = [['', 'as listed'], ['name', 'by name'], ['uri', 'by URI'], ['size', 'largest first'], ['modified', 'newest first']];

export async function show({ params, signal, fixed = {}, title = 'Browse', none }) {
  const state = () => {
    const now = here().params;
    const chosen = Object.fromEntries(FACETS.map(([name]) => [name, now.getAll(name)]));
    return { ...chosen, under: now.get('under') ?? '', q: now.get('q') ?? '', sort: now.get('sort') ?? '', ...fixed };
  };
  const bar = h('div.filters');
  const heads = h('div.heads', { role: 'group', 'aria-label': 'Order' });
  const total = h('span.total', { role: 'status' });
  const pane = glance(signal, () => beside(null));
  /** Shows a resource beside the list, or none. */
  function beside(data) {
    keep({ look: data?.uri ?? '' });
    node.classList.toggle('chosen', Boolean(data));
    if (data) pane.show(data);
    else rows.focus();
  }
  const rows = list({
    height: 46, label: 'Resources', draw: row, open: (data) => go(resource(data.uri)),
    choose(data) {
      if (WIDE.matches) beside(data);
      return WIDE.matches;
    },
    fetch: (offset, limit) => ask('resources', { ...state(), offset, limit }, signal),
    empty: () => (anything(state(), fixed) ? nothing(clear) : none?.() ?? nothing()),
  });
  const tree = h('div.tree', { role: 'tree', 'aria-label': 'Places' });
  const change = (changes) => { keep(changes); reload(); };
  const clear = () => change(Object.fromEntries([...FACETS.map(([name]) => [name, []]), ['under', ''], ['q', '']]));

  async function reload(keepPlace) {
    const answer = await rows.reset(keepPlace);
    if (!answer) return;
    fill(total, many(answer.total, 'resource'));
    draw(answer.facets);
  }
  function draw(facets) {
    const now = state();
    fill(bar,
      h('input', {
        type: 'search', placeholder: 'Filter these', 'aria-label': 'Filter these', value: now.q, className: 'narrow',
        oninput: later((event) => change({ q: event.target.value }), 60),
      }),
      FACETS.filter(([name]) => !(name in fixed)).map(([name, label]) => facet(name, label, facets?.[name] ?? [], now[name], change)),
      h('label.sort', null, h('span.unseen', null, 'Order'), h('select', { onchange: (event) => change({ sort: event.target.value }) },
        SORTS.map(([value, words]) => h('option', { value, selected: value === now.sort }, words)))),
      chips(now, fixed, change), total);
    fill(heads, COLUMNS.map(([name, words, sort]) => (sort
      ? h(`button.plain.${name}`, { type: 'button', 'aria-pressed': String(now.sort === sort), title: `Order: ${SORTS.find(([value]) => value === sort)[1]}`, onclick: () => change({ sort: now.sort === sort ? '' : sort }) }, words)
      : h(`span.${name}`, null, words))));
  }
  const node = h('section.browse', { class: fixed.scheme ? 'flat' : '' }, h('h1.unseen', null, title),
    fixed.scheme ? null : h('aside.places', { 'aria-label': 'Places' }, h('details.where', { open: !NARROW.matches }, h('summary', null, h('h2', null, 'Places')), tree)), h('div.rows', null, bar, heads, rows.node), pane.node);
  const first = await rows.reset();
  fill(total, many(first.total, 'resource'));
  draw(first.facets);
  if (!fixed.scheme) await places(tree, first.facets, state, change);
  /** Looks at the resource that the address names. */
  async function addressed() {
    const uri = here().params.get('look');
    if (!uri) node.classList.remove('chosen');
    if (!uri || !WIDE.matches) return;
    const known = await ask('resource', { uri }, signal).catch(() => null);
    if (!known || here().params.get('look') !== uri) return;
    rows.point((row) => row.uri === uri);
    beside(known);
  }
  const again = later(async () => { await reload(true); say('The list has changed'); }, 200);
  return {
    title,
    node,
    // Asked once more: nothing tells of changes while the places are on their way.
    async ready() {
      rows.focus();
      await rows.reset(true);
      await addressed();
    },
    hear: (name, data) => name === 'lists' && data.resources && again(),
    update: () => { reload(); addressed(); return true; },
  };
}

const anything = (state, fixed) => FACETS.some(([name]) => !(name in fixed) && state[name].length) || state.under || state.q;

function row(data) {
  return [
    h('span.what', null, h('b', null, visible(data.name || data.uri)), data.closed ? h('span.tag', { title: 'you may know of it, and not read it' }, 'closed') : null,
      h('span.says', null, visible(data.description))),
    h('span.uri.mono', null, visible(data.uri)),
    h('span.kind', null, kind(data.type)),
    h('span.size', null, data.size === null ? '' : bytes(data.size)),
    h('span.age', null, data.modified === null ? '' : ago(data.modified)),
    h('span.server', null, visible(data.server)),
  ];
}

function facet(name, label, values, chosen, change) {
  const box = h('details.facet', { ontoggle() { if (box.open) for (const other of document.querySelectorAll('details.facet[open]')) if (other !== box) other.open = false; } },
    h('summary', null, label, chosen.length ? h('span.badge', null, chosen.length) : null),
    h('div.choices', { role: 'group', 'aria-label': label }, values.length ? values.map(([value, n]) =>
      h('label', null, h('input', {
        type: 'checkbox', checked: chosen.includes(value),
        onchange: (event) => change({ [name]: event.target.checked ? [...chosen, value] : chosen.filter((one) => one !== value) }),
      }), h('span', null, visible(value)), h('span.soft', null, count(n)))) : h('p.soft', null, 'nothing to choose')));
  return box;
}

function chips(now, fixed, change) {
  const all = FACETS.filter(([name]) => !(name in fixed)).flatMap(([name]) => now[name].map((value) => [name, value]));
  if (now.under) all.push(['under', now.under]);
  return all.map(([name, value]) => h('button.chip', {
    type: 'button', title: 'Show all again', onclick: () => change({ [name]: name === 'under' ? '' : now[name].filter((one) => one !== value) }),
  }, visible(value), h('span', { 'aria-hidden': 'true' }, '×'), h('span.unseen', null, ' – remove')));
}

function nothing(clear) {
  return h('div.empty', null, h('h2', null, 'Nothing fits'), h('p', null, 'No resource has all that was chosen.'),
    clear ? h('button', { type: 'button', onclick: clear }, 'Show everything') : null);
}

// --- the tree

async function places(tree, facets, state, change) {
  const servers = facets?.server ?? [];
  // People's own first, Trove's last.
  const order = (server) => ['guide', 'trove'].indexOf(server);
  const all = [...servers].sort(([a], [b]) => order(a) - order(b) || a.localeCompare(b));
  fill(tree, branchOf({ label: 'All servers', count: all.reduce((sum, [, n]) => sum + n, 0), branch: false }, () => change({ server: [], under: '' }), null, 1),
    all.map(([server, n]) => branchOf({ label: server, count: n, branch: true }, () => change({ server: [server], under: '' }),
      (level) => below({ server, under: '' }, change, level), 1)));
  keysOf(tree);
}

async function below(place, change, level) {
  const { children, total } = await ask('tree', place);
  const nodes = children.map((child) => branchOf(child, () => (child.branch ? change({ server: [place.server], under: child.under }) : go(resource(child.under))),
    child.branch ? (deeper) => below({ server: place.server, under: child.under }, change, deeper) : null, level));
  if (total > children.length) nodes.push(h('p.soft.more', null, `and ${count(total - children.length)} more`));
  return nodes;
}

function branchOf(child, choose, open, level) {
  const group = h('div.group', { role: 'group' });
  const toggle = open ? async () => {
    const isOpen = item.getAttribute('aria-expanded') === 'true';
    item.setAttribute('aria-expanded', String(!isOpen));
    if (isOpen) group.replaceChildren();
    else fill(group, await open(level + 1));
  } : null;
  const item = h('div.branch', { role: 'treeitem', tabIndex: level === 1 && child.label === 'All servers' ? 0 : -1, 'aria-level': level, 'aria-expanded': open ? 'false' : undefined, 'aria-selected': 'false' },
    h('span.handle', { 'aria-hidden': 'true', onclick: (event) => { event.stopPropagation(); toggle?.(); } }),
    h('span.label', null, visible(child.label)), h('span.soft', null, child.branch || child.label === 'All servers' ? count(child.count) : ''));
  item.style.paddingLeft = `${(level - 1) * 14 + 4}px`;
  item.addEventListener('click', () => { pick(item); choose(); if (toggle && item.getAttribute('aria-expanded') === 'false') toggle(); });
  item.addEventListener('keydown', (event) => {
    const isOpen = item.getAttribute('aria-expanded') === 'true';
    if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); pick(item); choose(); }
    else if (event.key === 'ArrowRight' && toggle && !isOpen) { event.preventDefault(); toggle(); }
    else if (event.key === 'ArrowLeft' && toggle && isOpen) { event.preventDefault(); toggle(); }
  });
  return [item, group];
}

function pick(item) {
  for (const one of item.closest('[role=tree]').querySelectorAll('[role=treeitem]')) one.setAttribute('aria-selected', String(one === item));
}

function keysOf(tree) {
  tree.addEventListener('keydown', (event) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    const items = [...tree.querySelectorAll('[role=treeitem]')];
    const next = items[items.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1)];
    if (!next) return;
    event.preventDefault();
    for (const item of items) item.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}
