// The page around the views: where it is, what changed, what a key does.

import { ask, enter, listen, prefetch } from './lib/api.js';
import { fill, h, later, say } from './lib/dom.js';
import { isLost, isThere, look } from './lib/news.js';
import { openPalette } from './lib/palette.js';
import { go, here, keep, to } from './lib/router.js';
import { tally } from './lib/servers.js';
import { skeleton, sorry } from './lib/sorry.js';
import { many, visible } from './lib/text.js';

// Title, module and the letter after `g` of every view.
const VIEWS = {
  home: ['Home', 'h'], browse: ['Browse', 'b'], search: ['Search', 's'], map: ['Map', 'm'], templates: ['Templates', 't'], guide: ['Guide', 'u'],
  clients: ['Clients', 'c'], activity: ['Activity', 'a'], conflicts: ['Conflicts', 'x'], health: ['Health', 'e'], settings: ['Settings', 'o'],
};
const HIDDEN = { resource: ['Resource', ''], door: ['Welcome', ''] };
const main = document.getElementById('main');
const seek = document.getElementById('seek');

let current = null;
let ears = null;

async function show() {
  const { view, params } = here();
  const asked = location.hash;
  const name = view in VIEWS || view in HIDDEN ? view : 'home';
  const same = current?.name === name && current.shown?.update;
  if (same && current.shown.update(params)) return settled();
  current?.stop.abort();
  const own = { name, stop: new AbortController(), shown: null };
  current = own;
  mark(name);
  // A view that comes at once replaces nothing by something to wait for.
  const waiting = setTimeout(() => current === own && fill(main, skeleton()), 80);
  try {
    const module = await load(name);
    const shown = await module.show({ params, signal: own.stop.signal });
    if (current !== own) return;
    own.shown = shown;
    fill(main, shown.node);
    document.title = visible(`${shown.title ?? (VIEWS[name] ?? HIDDEN[name])[0]} · Trove`);
    shown.ready?.();
    hearken(shown.watch);
    // Whoever went on typing while the view was on its way has changed the address.
    if (location.hash !== asked) shown.update?.(here().params);
  } catch (error) {
    if (own.stop.signal.aborted || current !== own) return;
    if (error.status === 401 || error.kind === '403') return door();
    fill(main, sorry(error, show));
  } finally {
    clearTimeout(waiting);
    if (current === own) settled();
  }
}

const failed = new Map();

/** The module of a view. A browser remembers one it could not fetch, so that is asked for under another name. */
async function load(name) {
  const again = failed.get(name) ?? 0;
  try {
    return await import(`./views/${name}.js${again ? `?again=${again}` : ''}`);
  } catch (error) {
    failed.set(name, again + 1);
    throw error;
  }
}

/** Says that what is shown is what the address names. */
function settled() {
  main.dataset.shown = location.hash;
}

function door() {
  ears?.abort();
  import('./views/door.js').then(async (module) => {
    const { node, title } = await module.show({ then: show });
    fill(main, node);
    document.title = `${title} · Trove`;
    main.dataset.shown = location.hash;
  });
}

/** Listens for changes; of what is looked at too, where that can be watched. */
function hearken(watch) {
  if (ears && ears.watch === (watch ?? '')) return;
  ears?.abort();
  ears = new AbortController();
  ears.watch = watch ?? '';
  if (document.hidden) return;
  listen(watch, (name, data) => {
    if (name === 'locked') return door();
    if (name === 'lost') return lost();
    // What is shown is from before Trove fell silent.
    if (isThere()) again();
    if (name === 'health') {
      pulse(data);
      look(data);
    }
    current?.shown?.hear?.(name, data);
    if (name === 'lists' || name === 'hello') badges();
  }, ears.signal);
}

function lost() {
  isLost();
  fill(document.getElementById('pulse'), h('i.dot.bad'), 'Not connected');
}

/** Draws the view anew, unless somebody may be typing into it. */
function again() {
  if (current?.shown?.holds?.()) return;
  current = null;
  show();
}

// A page nobody looks at gives its line back: browsers have only six.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    ears?.abort();
  } else if (current?.shown) {
    const { watch } = current.shown;
    ears = null;
    hearken(watch);
    current.shown.hear?.('lists', { resources: true });
  }
});

function pulse(health) {
  const { all, well, shade } = tally(health);
  const words = all ? `${well} of ${many(all, 'server')}` : 'no servers yet';
  fill(document.getElementById('pulse'), h(`i.dot.${shade}`), h('span', null, words));
}

const badges = later(async () => {
  try {
    const { collisions } = await ask('overview');
    const badge = document.querySelector('#side [data-view=conflicts] .badge');
    if (badge) fill(badge, collisions || '');
  } catch { /* the view says so */ }
}, 300);

function mark(name) {
  for (const link of document.querySelectorAll('#side a')) {
    const is = link.dataset.view === name;
    link.toggleAttribute('aria-current', is);
    if (!is) continue;
    link.setAttribute('aria-current', 'page');
    link.scrollIntoView({ block: 'nearest', inline: 'center' });
  }
  if (name !== 'search' && document.activeElement !== seek) seek.value = '';
}

function side() {
  fill(document.getElementById('side'),
    h('ul', null, Object.entries(VIEWS).map(([name, [title, letter]]) =>
      h('li', null, h('a', { href: to(name), 'data-view': name, title: `g ${letter}` }, title, name === 'conflicts' ? h('span.badge') : null)))),
    h('button.plain.keys', { type: 'button', onclick: palette }, 'Go to ', h('kbd', null, 'Ctrl K')),
    h('button.plain.keys', { type: 'button', onclick: keys }, 'Keys ', h('kbd', null, '?')));
}

// --- searching

const search = later(() => {
  const q = seek.value.trim();
  if (here().view === 'search') {
    keep({ q });
    current?.shown?.update?.(here().params);
  } else if (q) {
    go(to('search', { q }));
  }
}, 0);
seek.addEventListener('input', search);
seek.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') { seek.value = ''; seek.blur(); main.focus(); }
  if ((event.key === 'ArrowDown' || event.key === 'Enter') && here().view === 'search') {
    event.preventDefault();
    if (event.key === 'Enter') current?.shown?.first?.();
    else document.querySelector('.hits a, .list')?.focus();
  } else if (event.key === 'Enter') search();
});

// --- keys

let prefix = 0;
document.addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    palette();
    return;
  }
  const typing = event.target.matches?.('input, textarea, select, [contenteditable]');
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector('dialog[open]')) return;
  if (typing) return;
  if (event.key === '/') { event.preventDefault(); seek.focus(); seek.select(); }
  else if (event.key in STEPS) step(event);
  else if (event.key === '?') keys();
  else if (event.key === 'd') shade();
  else if (event.key === 'g') { prefix = Date.now(); }
  else if (Date.now() - prefix < 1500) {
    const found = Object.entries(VIEWS).find(([, [, letter]]) => letter === event.key);
    if (found) { event.preventDefault(); go(to(found[0])); main.focus({ preventScroll: true }); }
    prefix = 0;
  }
});

// What arrows go through in views that have no list of their own.
const STOPS = '.card h2 a, .picks button, .sheet tbody a, .hit';
const STEPS = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };

/** Arrows work from the first moment, wherever nothing else takes them. */
function step(event) {
  const at = document.activeElement;
  const isFree = at === document.body || at === main;
  if (event.defaultPrevented || !(isFree || at.matches(STOPS))) return;
  const list = main.querySelector('.list');
  if (isFree && list) return list.focus();
  const stops = [...main.querySelectorAll(STOPS)].filter((one) => one.checkVisibility());
  const next = stops[isFree ? 0 : stops.indexOf(at) + STEPS[event.key]];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function palette() {
  const views = Object.entries(VIEWS).map(([name, [title, letter]]) => ({ title, hint: `g ${letter}`, act: () => go(to(name)) }));
  const actions = [
    { title: 'Search contents and meaning', hint: '/', act: () => seek.focus() },
    { title: 'Change the colours', hint: 'd', act: () => shade() },
    { title: 'Show all keys', hint: '?', act: keys },
    { title: 'Copy the address of this view', act: () => navigator.clipboard.writeText(location.href).then(() => say('Copied')) },
    ...(current?.shown?.actions?.() ?? []),
  ];
  openPalette(views, actions);
}

function keys() {
  const rows = [
    ['/', 'search, from anywhere'], ['Ctrl K', 'go anywhere: views, servers, actions, resources'], ['↑ ↓ Enter', 'move and open, in any list'], ['Esc', 'leave the search'],
    ...Object.entries(VIEWS).map(([, [title, letter]]) => [`g ${letter}`, title]), ['d', 'light, dark, as the system'], ['?', 'this'],
  ];
  const dialog = h('dialog.keysheet', { onclose: () => dialog.remove(), 'aria-labelledby': 'keys-title' },
    h('h2', { id: 'keys-title' }, 'Keys'),
    h('dl', null, rows.map(([key, what]) => [h('dt', null, key.split(' ').map((part) => h('kbd', null, part))), h('dd', null, what)])),
    h('form', { method: 'dialog' }, h('button', { type: 'submit' }, 'Close')));
  document.body.append(dialog);
  dialog.showModal();
}

// --- colours

const SHADES = { auto: 'as the system', light: 'light', dark: 'dark' };

function shade(event) {
  const names = Object.keys(SHADES);
  const next = event === null ? localStorage.getItem('trove-shade') ?? 'auto' : names[(names.indexOf(document.documentElement.dataset.theme) + 1) % 3];
  localStorage.setItem('trove-shade', next);
  document.documentElement.dataset.theme = next;
  const button = document.getElementById('theme');
  button.setAttribute('aria-label', `Colours: ${SHADES[next]}`);
  button.title = `Colours: ${SHADES[next]} (d)`;
  fill(button, { auto: '◐', light: '○', dark: '●' }[next]);
  if (event !== null) {
    say(`Colours: ${SHADES[next]}`);
    current?.shown?.shade?.();
  }
}

// Whoever left a view wants none of its answers, and that is no fault.
addEventListener('unhandledrejection', (event) => { if (event.reason?.name === 'AbortError') event.preventDefault(); });

// --- begin

shade(null);
document.getElementById('theme').addEventListener('click', shade);
document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
side();
const token = /^#token=([\w.-]+)$/.exec(location.hash)?.[1];
if (token) {
  // At once: it must not stay in the address, nor in the history.
  history.replaceState(null, '', '#/');
  try { await enter(token); } catch { /* the door says so */ }
}
const { view, params } = here();
// Home asks for it as soon as it is there; the answer may be on its way by then.
if (view === 'home') prefetch('overview');
if (view === 'search') seek.value = params.get('q') ?? '';
addEventListener('hashchange', () => {
  const now = here();
  if (now.view === 'search' && document.activeElement !== seek) seek.value = now.params.get('q') ?? '';
  show();
});
await show();
