// What is shown in place of something that failed, with what to do next.

import { h } from './dom.js';
import { to } from './router.js';
import { visible } from './text.js';

/** What is shown in place of a view that failed. */
export function sorry(error, again) {
  return h('section.sorry', { role: 'alert' },
    h('h1', null, error.status === 404 ? 'Nothing is there' : 'That did not work'),
    h('p', null, visible(error.message)),
    error.candidates?.length ? h('ul.plainlist', null, error.candidates.map((uri) => h('li', null, h('a.mono', { href: to('resource', { uri }) }, visible(uri))))) : null,
    error.next?.length ? h('ul', null, error.next.map((step) => h('li', null, step))) : null,
    again ? h('button', { type: 'button', onclick: again }, 'Try again') : null);
}
