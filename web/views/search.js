// Search: as one types, with what was found marked and why it was.

import { ask } from '../lib/api.js';
import { fill, h, later } from '../lib/dom.js';
import { here, keep, resource } from '../lib/router.js';
import { ago, bytes, count, kind, many, marked, millis, visible } from '../lib/text.js';

const FIRST = 30;
const MOST = 200;

export async function show({ params, signal }) {
  const chips = h('div.chips', { role: 'group', 'aria-label': 'Servers' });
  const status = h('p.soft.status', { role: 'status' });
  const hits = h('ol.hits');
  const deeper = h('section.deeper', { 'aria-label': 'By what they hold' });
  let asked = 0;
  let limit = FIRST;

  /** By name at once, by contents and meaning when the typing pauses. */
  async function find() {
    const now = here().params;
    const q = now.get('q') ?? '';
    const server = now.getAll('server');
    const nth = ++asked;
    if (!q.trim()) {
      fill(chips);
      fill(status);
      fill(hits, teach());
      fill(deeper);
      return;
    }
    let answer;
    try {
      answer = await ask('find', { q, server, limit }, signal);
    } catch (error) {
      // Whoever left wants no answer; the view itself says why there is none at first.
      if (signal.aborted || nth > 1) return;
      throw error;
    }
    if (nth !== asked) return;
    draw(q, server, answer);
    look(nth, q, server, new Set(answer.hits.map((hit) => hit.uri)));
  }

  const look = later(async (nth, q, server, known) => {
    if (nth !== asked) return;
    const answer = await ask('search', { q, server }, signal).catch(() => null);
    if (nth !== asked || !answer) return;
    const fresh = answer.hits.filter((hit) => !known.has(hit.uri));
    const part = answer.indexable ? `${count(answer.covered)} of ${count(answer.indexable)} are indexed` : '';
    const nothing = !fresh.length && !known.size;
    if (nothing) fill(hits, none(q, server, everywhere));
    fill(deeper, fresh.length ? [h('h2', null, 'By what they hold and mean', part ? h('span.soft', null, part) : null), h('ol.hits', null, fresh.map((hit) => one(hit, q)))] : null);
  }, 150);

  const everywhere = () => { keep({ server: [] }); find(); };

  function draw(q, server, answer) {
    fill(status, answer.total ? `${many(answer.total, 'resource')} by name in ${millis(answer.took_ms)}` : 'Nothing by name');
    fill(chips, answer.servers.length > 1 || server.length ? answer.servers.map(([name, n]) => {
      const on = server.includes(name);
      return h('button.chip', {
        type: 'button', 'aria-pressed': String(on),
        onclick() { keep({ server: on ? server.filter((one) => one !== name) : [...server, name] }); find(); },
      }, visible(name), ' ', h('span.soft', null, count(n)));
    }) : null);
    fill(hits, answer.hits.map((hit) => one(hit, q)),
      answer.total > answer.hits.length ? h('li.more', null, limit < MOST
        ? h('button', { type: 'button', onclick() { limit = MOST; find(); } }, `Show up to ${MOST}`)
        : h('span.soft', null, `The best ${MOST} of ${count(answer.total)}. Add a word to narrow it down.`)) : null);
  }

  await find();
  const node = h('section.page.search', null, h('h1.unseen', null, 'Search'), h('div.found', null, status, chips), hits, deeper);
  return {
    title: 'Search',
    node,
    update() { limit = FIRST; find(); return true; },
    hear: (name, data) => name === 'lists' && data.resources && find(),
    first: () => node.querySelector('.hit')?.click(),
    ready() { node.addEventListener('keydown', steps); },
  };
}

function one(hit, q) {
  return h('li', null, h('a.hit', { href: resource(hit.uri) },
    h('span.top', null, h('b', null, marked(hit.name || hit.uri, q)), h('span.tag', null, visible(hit.server)), hit.type ? h('span.soft', null, kind(hit.type)) : null,
      hit.size === null ? null : h('span.soft', null, bytes(hit.size)),
      hit.preview_stale ? h('span.soft', { title: 'Its text may have changed since it was read' }, `as of ${ago(hit.as_of)}`) : null,
      h('span.why', { title: `score ${hit.score}` }, `by ${hit.why.map((where) => (where === 'uri' ? 'URI' : where)).join(', ')}`)),
    hit.preview ? h('span.says', null, marked(hit.preview, q)) : hit.description ? h('span.says', null, marked(hit.description, q)) : null,
    h('span.mono.soft', null, marked(hit.uri, q))));
}

function steps(event) {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (!step) return;
  const links = [...event.currentTarget.querySelectorAll('.hit')];
  const next = links[links.indexOf(document.activeElement) + step];
  event.preventDefault();
  if (next) next.focus();
  else if (step < 0) document.getElementById('seek').focus();
}

function teach() {
  return h('li.empty', null,
    h('h2', null, 'Find a resource by its name, its words or its meaning'),
    h('p', null, 'Type a few letters of its name, its URI or its description; what is called so comes at once. What the contents hold and mean follows when you pause.'),
    h('p', null, h('kbd', null, '/'), ' brings you here from anywhere, ', h('kbd', null, '↓'), ' goes to what was found, ', h('kbd', null, 'Enter'), ' opens it.'));
}

function none(q, server, everywhere) {
  return h('li.empty', null,
    h('h2', null, `Nothing fits “${visible(q)}”`),
    server.length ? h('p', null, 'Only some servers were asked. ', h('button', { type: 'button', onclick: everywhere }, 'Search all'))
      : h('p', null, 'Try fewer words, a part of one, or other words for the same thing. A server that is down is searched as it was when it last answered.'));
}
