// Questions that may take long: how long it has been, and a way to stop waiting.

import { fill, h } from './dom.js';
import { millis } from './text.js';

/** Somebody did not want to wait any longer. */
export class Stopped extends Error {
  constructor(waited) {
    super(`You stopped waiting after ${millis(waited)}`);
    this.status = 'stopped';
    this.next = ['Its server was told to stop, too.'];
  }
}

const PATIENCE = 400;
const TICK = 100;

/**
 * Asks, and says in `place` how long that takes already, with a button to stop it.
 * @param {(signal: AbortSignal) => Promise} work
 */
export async function patiently(place, what, signal, work) {
  const own = new AbortController();
  const began = performance.now();
  const waited = () => performance.now() - began;
  const clock = h('b.clock');
  const tick = () => fill(clock, `${(waited() / 1000).toFixed(1)} s`);
  const show = () => {
    tick();
    const stop = h('button', { type: 'button', onclick: () => own.abort() }, 'Stop waiting');
    fill(place, h('div.patience', { role: 'group', 'aria-label': 'Waiting' }, h('p', { role: 'status' }, what), clock, stop));
  };
  const later = setTimeout(show, PATIENCE);
  const ticking = setInterval(tick, TICK);
  try {
    return await work(AbortSignal.any([signal, own.signal]));
  } catch (error) {
    if (own.signal.aborted) throw new Stopped(waited());
    throw error;
  } finally {
    clearTimeout(later);
    clearInterval(ticking);
  }
}
