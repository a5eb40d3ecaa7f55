// Guide: the documents kept under guide://, where there are any.

import { ask } from '../lib/api.js';
import { h } from '../lib/dom.js';
import { resource, to } from '../lib/router.js';
import { show as browse } from './browse.js';

export async function show({ params, signal }) {
  const { templates } = await ask('templates', {}, signal);
  const own = templates.filter((one) => one.template.startsWith('guide://'));
  const shown = await browse({ params, signal, fixed: { scheme: ['guide'] }, title: 'Guide', none: () => empty(own) });
  return shown;
}

function empty(templates) {
  return h('div.empty', null,
    h('h2', null, 'No guide here yet'),
    h('p', null, 'Guidelines, runbooks and requirements can live under ', h('code', null, 'guide://'), ', where every client finds them as resources instead of in one long prompt.'),
    templates.length ? h('p', null, 'What can be asked for: ', templates.map((one) => [h('a.mono', { href: to('templates', { template: one.template }) }, one.template), ' '])) : null,
    h('p.soft', null, 'What Trove says about itself is in ', h('a.mono', { href: resource('info://capabilities') }, 'info://capabilities'), '.'));
}
