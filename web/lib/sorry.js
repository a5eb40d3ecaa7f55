// What is shown in place of something that failed, with what to do next.

import { h } from './dom.js';
import { to } from './router.js';
import { visible } from './text.js';

const HEADS = { 0: 'Trove does not answer', 403: 'Not for you', 404: 'Nothing is there', 409: 'Several servers have it', 504: 'Its server takes too long', stopped: 'Not read' };

/** What is shown in place of a view that failed. */
export function sorry(error, again) {
  return h('section.sorry', { role: 'alert' },
    h('h2', null, HEADS[error.status] ?? 'That did not work'),
    h('p', null, visible(error.message)),
    error.candidates?.length ? h('ul.plainlist', null, error.candidates.map((uri) => h('li', null, h('a.mono', { href: to('resource', { uri }) }, visible(uri))))) : null,
    error.next?.length ? h('ul', null, error.next.map((step) => h('li', null, step))) : null,
    again ? h('button', { type: 'button', onclick: again }, 'Try again') : null);
}

/** What stands in for something that is on its way. */
export function skeleton(label = 'Loading') {
  return h('div.skeleton', { role: 'progressbar', 'aria-label': label }, h('i'), h('i'), h('i'), h('i'));
}
