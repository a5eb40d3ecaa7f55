// Templates: a form for the variables of one, with what its server offers, and the URI it makes.

import { ask } from '../lib/api.js';
import { fill, h, later } from '../lib/dom.js';
import { go, here, keep, resource } from '../lib/router.js';
import { copier, kind, many, visible } from '../lib/text.js';

export async function show({ params, signal }) {
  const names = h('ul.picks', { 'aria-label': 'Templates' });
  const side = h('div.side2');
  let all = [];
  const load = async () => {
    const { templates } = await ask('templates', {}, signal);
    // People's own first, Trove's last.
    const order = (template) => ['guide', 'trove'].indexOf(template.server);
    all = templates.sort((a, b) => order(a) - order(b));
  };
  await load();
  /** Which is shown: that of the address, else the first with something to fill in. */
  function chosen() {
    const wanted = here().params.get('template');
    return all.find((template) => template.template === wanted) ?? all.find((template) => template.variables.length) ?? all[0];
  }
  function list() {
    const one = chosen();
    fill(names, all.map((template) => h('li', null, h('button', {
      type: 'button', 'aria-current': template === one ? 'true' : undefined, onclick() { history.replaceState(null, '', '#/templates'); keep({ template: template.template }); draw(); },
    }, h('b', null, visible(template.name ?? '')), h('span.mono.soft', null, visible(template.template)), h('span.tag', null, visible(template.server))))));
    return one;
  }
  function draw() {
    const one = list();
    if (one) fill(side, form(one, signal));
  }
  const node = h('section.page.templates', null,
    h('header.head', null, h('h1', null, 'Templates'), h('p.lead', null, all.length ? `${many(all.length, 'template')}: fill in the variables to read what is not listed one by one.` : '')),
    all.length ? h('div.split', null, names, side) : h('div.empty', null, h('h2', null, 'No templates'), h('p', null,
      'A server can promise resources by a pattern such as ', h('code', null, 'log://{day}'), '. None of yours does.')));
  draw();
  return {
    title: 'Templates', node,
    update: () => { draw(); return true; },
    // What is being filled in stays as it is.
    hear: async (name, data) => { if (name === 'lists' && data.resources) { await load(); list(); } },
  };
}

function form(one, signal) {
  const values = {};
  const made = h('output.made.mono', { id: 'made' });
  const lacks = h('p.soft', { role: 'status' });
  const open = h('button', { type: 'submit', disabled: true }, 'Open');
  let uri = null;
  const given = () => Object.fromEntries(Object.entries(values).map(([name, value]) => [`v.${name}`, value]));
  let asked = 0;
  async function expand() {
    keep(given());
    const nth = ++asked;
    const answer = await ask('expand', { template: one.template, ...given() }, signal).catch((error) => ({ uri: null, lacks: error.message }));
    // Answers may overtake one another; only that to the last question counts.
    if (nth !== asked) return;
    uri = answer.uri;
    open.disabled = !uri;
    fill(made, uri ? visible(uri) : preview(one.template, values));
    fill(lacks, uri ? '' : visible(answer.lacks ?? ''));
  }
  const now = here().params;
  const fields = one.variables.map((name) => {
    const options = h('datalist', { id: `for-${name}` });
    const offer = later(async () => {
      const { values: offered = [] } = await ask('complete', { template: one.template, name, value: values[name] ?? '', ...given() }, signal).catch(() => ({}));
      fill(options, offered.slice(0, 100).map((value) => h('option', { value })));
      input.dataset.offered = offered.length;
    }, 80);
    const input = h('input.mono', {
      id: `v-${name}`, type: 'text', list: `for-${name}`, autocomplete: 'off', spellcheck: false, value: now.get(`v.${name}`) ?? '',
      oninput(event) { values[name] = event.target.value; expand(); offer(); },
      onfocus: offer,
    });
    if (input.value) values[name] = input.value;
    return h('div.field', null, h('label', { htmlFor: `v-${name}` }, visible(name)), input, options);
  });
  expand();
  return h('form.filling', { onsubmit(event) { event.preventDefault(); if (uri) go(resource(uri)); } },
    h('h2', null, visible(one.name ?? one.template)),
    one.description ? h('p', null, visible(one.description)) : null,
    h('p.badges', null, h('span.tag', null, visible(one.server)), one.type ? h('span.tag', null, kind(one.type)) : null, one.closed ? h('span.tag.bad', null, 'you may not read it') : null),
    one.usable ? fields : h('p.note', null, 'Its text is not a template of RFC 6570, so nothing can be filled in. Tell whoever runs the server.'),
    h('label.soft', { htmlFor: 'made' }, 'URI'), made, lacks,
    h('div.line', null, open, copier('Copy URI', () => uri ?? '')));
}

/** The template with what is filled in so far, the rest marked. */
function preview(template, values) {
  return template.split(/(\{[^}]*\})/).map((part) => {
    const name = /^\{[+#./;?&]?([\w.%]+)/.exec(part)?.[1];
    if (!name) return visible(part);
    return values[name] ? h('span', null, visible(values[name])) : h('span.hole', null, visible(part));
  });
}
