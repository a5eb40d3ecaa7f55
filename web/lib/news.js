// What concerns the whole page, in a line above every view: that Trove does not answer, that its
// configuration is broken, that something cannot be written.

import { ask } from './api.js';
import { fill, h } from './dom.js';
import { to } from './router.js';
import { visible } from './text.js';

const place = document.getElementById('news');
const lines = new Map();

function draw() {
  fill(place, [...lines.values()]);
}

function put(name, node) {
  if (node) lines.set(name, node);
  else lines.delete(name);
  draw();
}

const time = () => new Date().toLocaleTimeString('en-GB');
let heard = time();

/** Trove has said something. Gives whether it had fallen silent before. */
export function isThere() {
  heard = time();
  const wasLost = lines.has('lost');
  if (wasLost) put('lost', null);
  return wasLost;
}

/** Trove does not answer. */
export function isLost() {
  if (lines.has('lost')) return;
  put('lost', h('p.line.bad', { role: 'alert' }, h('b', null, 'Trove does not answer.'), ` What you see is as of ${heard}. It connects again by itself as soon as Trove runs.`));
}

/** Looks at what is kept on disk, as the state of Trove tells it. */
export async function look(health) {
  const ill = health.stores.filter((store) => store.problem && (store.state === 'failing' || store.state === 'memory'));
  for (const name of [...lines.keys()]) {
    if (name !== 'lost' && !ill.some((store) => store.name === name)) put(name, null);
  }
  for (const store of ill) {
    if (store.name === 'configuration') await configuration(store);
    else put(store.name, h('p.line.fair', null, h('b', null, `${visible(store.name)}: `), visible(store.problem)));
  }
}

async function configuration(store) {
  const { pending } = await ask('overview').catch(() => ({}));
  const errors = (pending?.problems ?? []).filter((problem) => problem.severity === 'error');
  const said = errors.map((one) => h('li', null, h('code', null, `${visible(one.file ?? '')}${one.line ? `:${one.line}` : ''}`), ` ${visible(one.message)}. `, h('span.soft', null, visible(one.hint))));
  put(store.name, h('div.line.bad', { role: 'alert' },
    h('p', null, h('b', null, 'The configuration on the disk is not in force: '), `${visible(pending?.refused ?? 'it was refused')}. What was in force before goes on. `, h('a', { href: to('settings') }, 'Settings in force')),
    said.length ? h('ul', null, said.slice(0, 5)) : null));
}
