// The palette: every view, server, action and resource by its name, from anywhere.

import { ask } from './api.js';
import { fill, h, later } from './dom.js';
import { go, resource, to } from './router.js';
import { standing } from './servers.js';
import { kind, marked, visible } from './text.js';

const MOST = 8;
const MOST_RESOURCES = 12;

/** Each word of the question stands somewhere in the text. */
function fits(text, q) {
  const low = text.toLowerCase();
  return q.toLowerCase().split(/\s+/).every((word) => low.includes(word));
}

/**
 * @param {{title: string, hint?: string, act: () => void}[]} views
 * @param {{title: string, hint?: string, act: () => void}[]} actions
 */
export async function openPalette(views, actions) {
  if (document.querySelector('dialog[open]')) return;
  const before = document.activeElement;
  const stop = new AbortController();
  let servers = [];
  let found = [];
  let at = 0;
  let asked = 0;
  const choices = h('div.choose', { role: 'listbox', id: 'palette-list', 'aria-label': 'What fits' });
  const input = h('input', {
    type: 'text', role: 'combobox', 'aria-label': 'Go to a view, a server, an action or a resource', 'aria-expanded': 'true', 'aria-controls': 'palette-list',
    placeholder: 'A view, a server, an action, a resource', autocomplete: 'off', spellcheck: false, oninput: () => { at = 0; draw(); seek(); },
  });
  const dialog = h('dialog.palette', { 'aria-label': 'Go anywhere', onclose }, input, choices);

  function onclose() {
    stop.abort();
    dialog.remove();
    if (document.activeElement === document.body) before?.focus?.({ preventScroll: true });
  }

  function groups() {
    const q = input.value.trim();
    const named = (all) => (q ? all.filter((one) => fits(one.title, q)) : all).slice(0, q ? MOST : all.length);
    const all = [['Views', named(views)], ['Servers', named(servers)], ['Actions', named(actions)], ['Resources', q ? found : []]];
    return all.filter(([, ones]) => ones.length);
  }

  function draw() {
    const q = input.value.trim();
    const shown = groups();
    const flat = shown.flatMap(([, ones]) => ones);
    at = Math.max(0, Math.min(at, flat.length - 1));
    let nth = -1;
    fill(choices, shown.map(([name, ones]) => h('div', { role: 'group', 'aria-label': name }, h('p.soft', { 'aria-hidden': 'true' }, name), ones.map((one) => {
      nth += 1;
      const n = nth;
      return h('div.choice', { role: 'option', id: `choice-${n}`, 'aria-selected': String(n === at), onclick: () => take(one), onmousemove() { if (at !== n) { at = n; mark(); } } },
        h('span', null, q ? marked(one.title, q) : visible(one.title)), one.hint ? h('span.soft', null, visible(one.hint)) : null);
    }))), flat.length ? null : h('p.soft.none', { role: 'status' }, 'Nothing is called so. ', h('kbd', null, 'Enter'), ' searches contents and meaning.'));
    mark();
  }

  function mark() {
    for (const node of choices.querySelectorAll('.choice')) {
      const on = node.id === `choice-${at}`;
      node.setAttribute('aria-selected', String(on));
      if (on) node.scrollIntoView({ block: 'nearest' });
    }
    if (choices.querySelector('.choice')) input.setAttribute('aria-activedescendant', `choice-${at}`);
    else input.removeAttribute('aria-activedescendant');
  }

  function take(one) {
    dialog.close();
    one.act();
  }

  const seek = later(async () => {
    const q = input.value.trim();
    asked += 1;
    const nth = asked;
    if (!q) {
      found = [];
      return draw();
    }
    const answer = await ask('find', { q, limit: MOST_RESOURCES }, stop.signal).catch(() => null);
    if (nth !== asked || !answer) return;
    found = answer.hits.map((hit) => ({ title: hit.name || hit.uri, hint: `${hit.server} ${kind(hit.type)}`, act: () => go(resource(hit.uri)) }));
    draw();
  }, 30);

  input.addEventListener('keydown', (event) => {
    const flat = groups().flatMap(([, ones]) => ones);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) {
      event.preventDefault();
      at = Math.max(0, Math.min(flat.length - 1, at + step));
      mark();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const q = input.value.trim();
      if (flat[at]) take(flat[at]);
      else if (q) take({ act: () => go(to('search', { q })) });
    }
  });
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  draw();
  const overview = await ask('overview', {}, stop.signal).catch(() => null);
  if (!overview || stop.signal.aborted) return;
  const [own, others] = [true, false].map((is) => overview.health.sources.filter((source) => (source.transport === 'builtin') === is));
  servers = [...others, ...own].map((source) => ({
    title: source.id, hint: `${standing(source, overview.waiting)[1]}, ${source.resources} resources`, act: () => go(to('browse', { server: source.id })),
  }));
  draw();
}
