// Shown to whoever has no pass: how to get in.

import { enter } from '../lib/api.js';
import { fill, h } from '../lib/dom.js';

export function show({ then }) {
  const input = h('input.mono', { id: 'token', type: 'password', autocomplete: 'off', required: true, placeholder: 'the token' });
  const fault = h('p.fault', { role: 'alert' });
  const form = h('form', {
    async onsubmit(event) {
      event.preventDefault();
      try {
        await enter(input.value.trim());
        then();
      } catch (error) {
        fill(fault, error.status === 401 ? 'That is not the token of this Trove.' : error.message);
        input.select();
      }
    },
  }, h('label', { htmlFor: 'token' }, 'Or paste the token'), h('div.line', null, input, h('button', { type: 'submit' }, 'Open')), fault);
  return {
    title: 'Welcome',
    node: h('section.door', null,
      h('h1', null, 'This Trove has a lock'),
      h('p', null, 'It shows what your servers hold, so it wants to know that you are you. Open the address that it printed when it started; it looks like this:'),
      h('pre', null, `${location.origin}/#token=…`),
      form,
      h('p.soft', null, 'The token lies in the file ', h('code', null, 'token'), ' of Trove’s state folder, which ', h('code', null, 'trove config show'), ' names. ',
        'The browser stays let in for thirty days.')),
  };
}
