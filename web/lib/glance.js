// A look at a resource beside a list: what it is, and its contents in a frame that can do nothing.

import { ask } from './api.js';
import { fill, h } from './dom.js';
import { resource } from './router.js';
import { sorry } from './sorry.js';
import { bytes, copier, kind, many, visible } from './text.js';
import { patiently } from './wait.js';

const PAUSE = 140;

/** A pane that shows one resource after the other. */
export function glance(signal, close) {
  const node = h('aside.glance', { 'aria-label': 'The resource that is chosen' });
  let timer = 0;
  let stop = new AbortController();
  let shown = null;

  async function draw(row) {
    const part = h('div.part');
    fill(node, head(row, close), part);
    const own = AbortSignal.any([signal, stop.signal]);
    try {
      const reading = await patiently(part, `Asking ${visible(row.server)}`, own, (one) => ask('contents', { uri: row.uri }, one));
      if (own.aborted) return;
      fill(part, contents(reading));
    } catch (error) {
      if (!own.aborted) fill(part, sorry(error, () => draw(row)));
    }
  }

  return {
    node,
    /** Shows it when nobody goes on to another for a moment. */
    show(row) {
      if (!row || shown === row.uri) return;
      shown = row.uri;
      stop.abort();
      stop = new AbortController();
      clearTimeout(timer);
      timer = setTimeout(() => draw(row), PAUSE);
      signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    },
  };
}

function head(row, close) {
  return h('header', null,
    h('div.line.title', null, h('h2', null, h('a', { href: resource(row.uri) }, visible(row.name || row.uri))), h('span.fill'),
      h('button.plain', { type: 'button', 'aria-label': 'Close', onclick: close }, '×')),
    h('p.mono.soft', null, visible(row.uri)),
    row.description ? h('p', null, visible(row.description)) : null,
    h('div.line', null, h('a.quiet', { href: resource(row.uri) }, 'Open'), copier('URI', row.uri), h('a.quiet', { href: resource(row.uri, { tab: 'model' }) }, 'As the model sees it')));
}

function contents(reading) {
  const [part] = reading.parts;
  if (!part) return h('p.soft', null, 'It holds nothing.');
  const more = reading.parts.length > 1 ? `, the first of ${many(reading.parts.length, 'part')}` : '';
  const src = `/api/show/${reading.ticket}/0?${new URLSearchParams({ as: part.looks[0], theme: document.documentElement.dataset.theme })}`;
  return [h('p.soft.small', null, `${kind(part.type)}, ${bytes(part.size)}${more}`), frame(src, part)];
}

/** The frame of contents. Only a link to a resource of the catalogue leads out of it, when it is clicked. */
export function frame(src, part) {
  const sandbox = part.links ? 'allow-top-navigation-by-user-activation' : '';
  return h('iframe.frame', { src, title: 'Contents', sandbox, referrerPolicy: 'no-referrer' });
}
