// Health: how long servers take, what is asked of us, and what servers write to their logs.

import { ask } from '../lib/api.js';
import { fill, h, later, svg } from '../lib/dom.js';
import { parse, sum, within } from '../lib/figures.js';
import { here, keep, to } from '../lib/router.js';
import { isWell, others, standing, tally } from '../lib/servers.js';
import { bytes, count, millis, span, visible } from '../lib/text.js';

export async function show({ params, signal }) {
  const body = h('div.health');
  const log = h('section.log');
  let sources = [];
  // What was seen while this view is open; nobody keeps it longer.
  const seen = { indexed: [], hits: [] };
  async function draw() {
    const [{ health, waiting }, { figures, latency }] = await Promise.all([ask('overview', {}, signal), ask('figures', {}, signal)]);
    sources = health.sources;
    const read = parse(figures);
    note(seen.indexed, health.index.indexed);
    note(seen.hits, 100 * (share(read) ?? 0));
    fill(body, tiles(health, read), answers(health, waiting, read), plots(latency), kept(health.index, read, seen), h('div.split2', null, requests(read), tools(read)));
  }
  async function logs() {
    const servers = others({ sources });
    const id = here().params.get('server') ?? servers.find((source) => source.last_error)?.id ?? servers[0]?.id;
    if (!id) return fill(log);
    const { lines } = await ask('logs', { server: id }, signal);
    const source = servers.find((one) => one.id === id);
    fill(log, h('div.tools', null, h('h2', null, 'What a server wrote to its log'), h('span.fill'),
      h('select', { 'aria-label': 'Server', onchange(event) { keep({ server: event.target.value }); logs(); } }, servers.map((one) => h('option', { value: one.id, selected: one.id === id }, one.id)))),
      source?.last_error ? h('div.trouble', { class: isWell(source) ? 'past' : '' }, h('p', null, visible(source.last_error))) : null,
      lines.length ? h('pre.box.log', { tabIndex: 0 }, lines.slice(-500).map((line) => `${visible(line)}\n`))
        : h('p.soft', null, source?.transport === 'stdio' ? 'Nothing yet: it has written nothing to stderr.' : 'It runs elsewhere, so its log is there too.'));
  }
  await draw();
  await logs();
  const again = later(() => { draw().catch(() => {}); logs().catch(() => {}); }, 300);
  const timer = setInterval(() => { if (!document.hidden) again(); }, 5000);
  signal.addEventListener('abort', () => clearInterval(timer));
  return {
    title: 'Health',
    node: h('section.page', null, h('header.head', null, h('h1', null, 'Health')), body, log),
    hear: (name) => name === 'health' && again(),
    update: () => { logs(); return true; },
  };
}

// How often values are taken, in seconds.
const EVERY = 5;
const MOST_SEEN = 120;

function note(series, value) {
  series.push(value);
  if (series.length > MOST_SEEN) series.shift();
}

const asks = (read) => sum(read.trove_cache_hits_total) + sum(read.trove_cache_misses_total);
/** The share of questions answered from the cache; null before the first. */
const share = (read) => (asks(read) ? sum(read.trove_cache_hits_total) / asks(read) : null);

function tiles(health, read) {
  const asked = asks(read);
  const { all, well } = tally(health);
  const ill = all - well;
  return h('div.tiles', null,
    tile(`${well} of ${all}`, all === 1 ? 'server does well' : 'servers do well', ill ? `${count(ill)} ${ill === 1 ? 'does' : 'do'} not; Home says why` : null),
    tile(count(health.resources), 'resources'), tile(asked ? `${Math.round(100 * share(read))} %` : '–', 'from the cache', asked ? `${count(asked)} asked` : 'nothing asked yet'),
    tile(bytes(sum(read.trove_cache_bytes)), 'kept in the cache'), tile(span(health.uptime_seconds), 'running', `version ${health.version}`));
}

const tile = (value, what, note) => h('div.tile', null, h('b', null, value), h('span', null, what), note ? h('span.soft.small', null, note) : null);

/** How long each server takes, and how often it fails. */
function answers(health, waiting, read) {
  const servers = others(health);
  if (!servers.length) return null;
  const heads = [['Server', ''], ['State', ''], ['Asked', 'number'], ['Failed', ''], ['Half within', 'number'], ['95 % within', 'number'], ['Connected', 'number']];
  return h('section.answers', null, h('h2', null, 'Each server'),
    h('div.wide', { tabIndex: 0, role: 'group', 'aria-label': 'Each server' }, h('table.sheet', null,
      h('thead', null, h('tr', null, heads.map(([name, kind]) => h('th', { scope: 'col', class: kind }, name)))),
      h('tbody', null, servers.map((source) => answer(source, waiting, read))))),
    h('p.soft.small', null, 'What was read of it since Trove started; answers from the cache are left out.'));
}

function answer(source, waiting, read) {
  const own = (labels) => labels.source === source.id;
  const asked = sum(read.trove_source_requests_total, own);
  const failed = sum(read.trove_source_requests_total, (labels) => own(labels) && labels.outcome === 'error');
  const [shade, word] = standing(source, waiting);
  const took = (share) => millis(within(share, read.trove_source_request_duration_seconds_bucket, own));
  return h('tr', null,
    h('th', { scope: 'row' }, h('a', { href: to('browse', { server: source.id }) }, visible(source.id))),
    h('td', null, h(`span.state.${shade}`, null, h(`i.dot.${shade}`), word)),
    h('td.number', null, count(asked)),
    h('td', null, asked ? h('span.share', null, bar(asked, failed, asked), failed ? h('span.bad', null, `${count(failed)}, ${percent(failed / asked)}`) : h('span.soft', null, 'none')) : null),
    h('td.number', null, took(0.5)), h('td.number', null, took(0.95)),
    h('td.number', null, source.connects > 1 ? `${count(source.connects)} times` : source.connects === 1 ? 'once' : 'never'));
}

const percent = (share) => (share > 0 && share < 0.01 ? 'under 1 %' : `${Math.round(100 * share)} %`);

function plots(latency) {
  const all = Object.entries(latency);
  if (!all.length) return null;
  const most = Math.max(...all.flatMap(([, values]) => values), 1);
  return h('section', null, h('h2', null, 'How long answers take'), h('div.plots', null, all.map(([id, values]) => {
    const last = millis(values.at(-1));
    return plot(h('a', { href: to('browse', { server: id }) }, visible(id)), last, `${id}: last ${last}, at most ${millis(Math.max(...values))}`, values, most, { shown: millis });
  })));
}

const INDEX = { absent: 'not there yet', indexing: 'being filled', ready: 'complete' };

/** The index and the cache, as they did since this view was opened. */
function kept(index, read, seen) {
  const part = `${count(index.indexed)} of ${count(index.indexable)}`;
  const hits = share(read) === null ? '–' : `${Math.round(100 * share(read))} %`;
  return h('section', null, h('h2', null, 'Index and cache'), h('p.soft', null, `The index is ${INDEX[index.state] ?? index.state}.${index.vectors_missing ? ` ${count(index.vectors_missing)} of it cannot be found by meaning yet.` : ''}`), h('div.plots', null,
    plot('contents indexed', part, `${part} contents indexed`, seen.indexed, index.indexable),
    plot('from the cache', hits, `${hits} from the cache`, seen.hits, 100, { shown: (one) => `${Math.round(one)} %` }),
    h('dl.facts', null, [['resources it knows', count(sum(read.trove_index_entries))], ['vectors', count(sum(read.trove_index_vectors))], ['takes', bytes(sum(read.trove_index_bytes))]]
      .map(([what, value]) => [h('dt', null, what), h('dd', null, value)]))));
}

/** A curve of values that came `every` so many seconds, with its scale; the value under the pointer is told. */
function plot(caption, value, label, series, top, { every = EVERY, shown = count } = {}) {
  const most = Math.max(top, 1e-9);
  // One value alone is a level line.
  const values = series.length === 1 ? [series[0], series[0]] : series;
  const [width, height] = [260, 64];
  const x = (n) => (values.length > 1 ? (n / (values.length - 1)) * width : width);
  const y = (one) => height - 1 - (one / most) * (height - 6);
  const line = values.map((one, n) => `${x(n).toFixed(1)},${y(one).toFixed(1)}`);
  const said = h('b', null, value);
  const cursor = svg('line', { y1: 0, y2: height, x1: -1, x2: -1, class: 'cursor' });
  const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    svg('line', { x1: 0, x2: width, y1: height - 1, y2: height - 1, class: 'axis' }), svg('line', { x1: 0, x2: width, y1: y(most), y2: y(most), class: 'axis' }),
    svg('polygon', { points: `0,${height - 1} ${line.join(' ')} ${x(values.length - 1).toFixed(1)},${height - 1}`, class: 'area' }), svg('polyline', { points: line.join(' ') }), cursor);
  const ago = (n) => span((series.length - 1 - n) * every, ' ago');
  drawing.addEventListener('pointermove', (event) => {
    const box = drawing.getBoundingClientRect();
    const n = Math.max(0, Math.min(values.length - 1, Math.round(((event.clientX - box.left) / box.width) * (values.length - 1))));
    for (const end of ['x1', 'x2']) cursor.setAttribute(end, x(n));
    fill(said, `${shown(values[n])}, ${ago(Math.min(n, series.length - 1))}`);
  });
  drawing.addEventListener('pointerleave', () => {
    for (const end of ['x1', 'x2']) cursor.setAttribute(end, -1);
    fill(said, value);
  });
  return h('figure.plot', null, h('figcaption', null, caption, said), drawing,
    h('div.scale', null, h('span', null, series.length > 1 ? ago(0) : ''), h('span', null, `0 to ${shown(most)}`), h('span', null, 'now')));
}

function bars(title, values, none) {
  const shown = values.filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]).slice(0, 12);
  const most = Math.max(...shown.map(([, n]) => n), 1);
  return h('section', null, h('h2', null, title), shown.length ? h('dl.bars', null, shown.map(([name, n, bad]) => {
    return [h('dt.mono', null, visible(name)), h('dd', null, bar(n, bad, most), h('span', null, count(n), bad ? h('span.bad', null, ` ${count(bad)} failed`) : null))];
  })) : h('p.soft', null, none));
}

/** A bar as long as its number is large, in which the red part is the share of failures. */
function bar(n, bad, most) {
  const failed = h('em');
  failed.style.width = `${(100 * bad) / n}%`;
  const whole = h('i', null, bad ? failed : null);
  whole.style.width = `${Math.max(1, (100 * n) / most)}%`;
  return whole;
}

function grouped(values = [], label) {
  const all = new Map();
  for (const [labels, value] of values) {
    const [n, bad] = all.get(labels[label]) ?? [0, 0];
    all.set(labels[label], [n + value, bad + (labels.outcome === 'error' ? value : 0)]);
  }
  return [...all].map(([name, [n, bad]]) => [name, n, bad]);
}

const requests = (read) => bars('What clients ask', grouped(read.trove_requests_total, 'method'), 'No client has asked anything since the start.');
const tools = (read) => bars('Tools they call', grouped(read.trove_tool_calls_total, 'tool'), 'No tool has been called since the start.');
