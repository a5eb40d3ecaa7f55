// Shown to whoever has no pass: how to get in.

import { ask, enter } from '../lib/api.js';
import { fill, h } from '../lib/dom.js';
import { copier } from '../lib/text.js';

export async function show({ then }) {
  const { by } = await ask('door').catch(() => ({}));
  return by === 'issuer' ? closed() : locked(then);
}

/** Clients come with tokens of an issuer, and the page knows none of its people. */
function closed() {
  const command = 'trove up --no-auth --http 127.0.0.1:0';
  return {
    title: 'Not here',
    node: h('section.door', null,
      h('h1', null, 'This Trove shows no page'),
      h('p', null, 'Its clients come with tokens that an issuer signed (', h('code', null, 'auth = "jwt"'), ' or ', h('code', null, '"oauth"'), ' in its configuration). This page shows the view of one owner and knows no other person, so it lets nobody in here.'),
      h('p', null, 'To look at the same servers, start a second Trove with the same configuration on the machine itself. It takes no token, and only that machine reaches it:'),
      h('div.line', null, h('pre', null, command), copier('Copy', command)),
      h('p.soft', null, 'Clients go on using ', h('code', null, `${location.origin}/mcp`), '.')),
  };
}

function locked(then) {
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
