// Who read what and when: a lane for each client, a mark for each thing asked.

import { h, svg } from './dom.js';
import { ago, clock, visible } from './text.js';

const WIDTH = 1000;
const LANE = 26;
const MOST_LANES = 12;

/** @param {{at: string, client?: string, via?: string, action?: string, target?: string, error?: string}[]} entries the newest first */
export function lanes(entries) {
  const asked = entries.filter((entry) => entry.target);
  const timed = asked.map((entry) => ({ ...entry, ms: Date.parse(entry.at) })).filter((entry) => Number.isFinite(entry.ms));
  if (timed.length < 2) return null;
  const by = new Map();
  for (const entry of timed) {
    const who = entry.client ?? entry.via ?? 'nobody named';
    by.set(who, [...(by.get(who) ?? []), entry]);
  }
  const shown = [...by].sort((a, b) => b[1].length - a[1].length).slice(0, MOST_LANES);
  const from = Math.min(...timed.map((entry) => entry.ms));
  const to = Math.max(...timed.map((entry) => entry.ms), from + 1);
  const x = (ms) => 4 + ((ms - from) / (to - from)) * (WIDTH - 8);
  return h('figure.lanes', null,
    h('figcaption', null, h('span', null, 'Who asked, and when'), h('span.soft', null, `${clock(new Date(from))} to ${clock(new Date(to))}, ${ago(to / 1000)}`)),
    h('dl', null, shown.map(([who, all]) => [h('dt', null, visible(who), h('span.soft', null, ` ${all.length}`)), h('dd', null, lane(who, all, x))])),
    by.size > MOST_LANES ? h('p.soft.small', null, `and ${by.size - MOST_LANES} more clients`) : null);
}

function lane(who, all, x) {
  const failed = all.filter((entry) => entry.error).length;
  const words = `${who}: ${all.length} asked, ${failed} failed`;
  return svg('svg', { viewBox: `0 0 ${WIDTH} ${LANE}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': visible(words) },
    svg('line', { x1: 0, x2: WIDTH, y1: LANE / 2, y2: LANE / 2, class: 'axis' }),
    all.map((entry) => svg('line', { x1: x(entry.ms), x2: x(entry.ms), y1: 4, y2: LANE - 4, class: entry.error ? 'bad' : entry.action === 'read' ? 'read' : 'other' },
      svg('title', {}, visible(`${clock(entry.at)} ${entry.action ?? ''} ${entry.target ?? ''} ${entry.error ?? ''}`)))));
}
