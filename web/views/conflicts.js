// Conflicts: names that several servers use.

import { ask } from '../lib/api.js';
import { fill, h } from '../lib/dom.js';
import { resource } from '../lib/router.js';
import { count, many, visible } from '../lib/text.js';

const MOST = 500;

export async function show({ signal }) {
  const body = h('div');
  async function draw() {
    const { collisions } = await ask('collisions', {}, signal);
    fill(body, collisions.length ? [
      h('p.lead', null, `${many(collisions.length, 'name')} in use by several servers. Nobody is picked silently: each is listed under a name of its own.`),
      h('table.sheet', null,
        h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'The name'), h('th', { scope: 'col' }, 'Reached as'))),
        h('tbody', null, collisions.slice(0, MOST).map((one) => h('tr', null, h('td.mono', null, visible(one.uri)),
          h('td', null, one.reached_as.map((uri) => h('div', null, h('a.mono', { href: resource(uri) }, visible(uri))))))))),
      collisions.length > MOST ? h('p.soft', null, `and ${count(collisions.length - MOST)} more, in `, h('a.mono', { href: resource('info://collisions') }, 'info://collisions')) : null,
    ] : h('div.empty', null, h('h2', null, 'No conflicts'), h('p', null, 'Every name belongs to one server. Should two servers ever list the same URI, both stay reachable as ',
      h('code', null, 'server+uri'), ' and show up here.')));
  }
  await draw();
  return { title: 'Conflicts', node: h('section.page', null, h('header.head', null, h('h1', null, 'Conflicts')), body), hear: (name) => name === 'lists' && draw() };
}
