// A list of any length: only the rows in sight exist, pages are fetched as they come
// into sight.

import { h } from './dom.js';

const PAGE = 100;
const SPARE = 8;

/**
 * @param {object} o
 * @param {number} o.height the height of a row
 * @param {(offset: number, limit: number) => Promise<{total: number, rows: object[]}>} o.fetch
 * @param {(row: object, n: number) => Node[]} o.draw
 * @param {(row: object) => void} o.open
 * @param {(row: object) => boolean} [o.choose] somebody moved to it or clicked it; true: that is enough for a click
 */
export function list({ height, label, fetch, draw, open, choose, empty }) {
  const space = h('div.space');
  const box = h('div.list', { role: 'listbox', tabIndex: 0, 'aria-label': label }, space);
  const stack = h('div.stack', null, box);
  const pages = new Map();
  const drawn = new Map();
  let total = 0;
  let at = 0;
  let age = 0;
  // The row that is to open once it is there.
  let wanted = null;

  function row(n) {
    return pages.get(Math.floor(n / PAGE))?.[n % PAGE];
  }

  async function load(page) {
    if (pages.has(page)) return;
    const asked = [];
    pages.set(page, asked);
    const own = age;
    const forget = () => { if (pages.get(page) === asked) pages.delete(page); };
    try {
      const answer = await fetch(page * PAGE, PAGE);
      if (own !== age) return forget();
      pages.set(page, answer.rows);
      if (answer.total !== total) resize(answer.total);
      for (const [n, node] of drawn) if (Math.floor(n / PAGE) === page) { node.remove(); drawn.delete(n); }
      paint();
      if (wanted !== null && row(wanted)) openWanted();
    } catch {
      forget();
    }
  }

  function openWanted() {
    const data = row(wanted);
    wanted = null;
    open(data);
  }

  function resize(count) {
    total = count;
    space.style.height = `${total * height}px`;
    box.hidden = total === 0;
    at = Math.min(at, Math.max(0, total - 1));
  }

  function paint() {
    const first = Math.max(0, Math.floor(box.scrollTop / height) - SPARE);
    const last = Math.min(total, Math.ceil((box.scrollTop + box.clientHeight) / height) + SPARE);
    for (const [n, node] of drawn) if (n < first || n >= last) { node.remove(); drawn.delete(n); }
    for (let n = first; n < last; n++) {
      if (drawn.has(n)) continue;
      const data = row(n);
      if (!data) load(Math.floor(n / PAGE));
      const node = h('div.row', {
        role: 'option', id: `row-${n}`, 'aria-posinset': n + 1, 'aria-setsize': total, 'aria-selected': String(n === at), 'aria-label': data ? null : 'Loading',
        onclick() { at = n; select(); if (row(n) && !choose?.(row(n))) open(row(n)); }, ondblclick() { if (row(n)) open(row(n)); },
      }, data ? draw(data, n) : h('span.ghost'));
      node.style.transform = `translateY(${n * height}px)`;
      node.style.height = `${height}px`;
      drawn.set(n, node);
      space.append(node);
    }
    // A page that hangs over the end of what is in sight comes early.
    load(Math.floor(Math.min(last, Math.max(0, total - 1)) / PAGE));
    if (drawn.has(at)) box.setAttribute('aria-activedescendant', `row-${at}`);
    else box.removeAttribute('aria-activedescendant');
  }

  function select() {
    for (const [n, node] of drawn) node.setAttribute('aria-selected', String(n === at));
    const top = at * height;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
    paint();
  }

  box.addEventListener('scroll', () => requestAnimationFrame(paint), { passive: true });
  box.addEventListener('keydown', (event) => {
    const step = Math.max(1, Math.floor(box.clientHeight / height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: step, PageUp: -step, Home: -total, End: total };
    if (event.key in moves && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      at = Math.max(0, Math.min(total - 1, at + moves[event.key]));
      wanted = null;
      select();
      if (row(at)) choose?.(row(at));
    } else if (event.key === 'Enter' && total > 0) {
      event.preventDefault();
      wanted = at;
      if (row(at)) openWanted();
    }
  });
  new ResizeObserver(() => paint()).observe(box);

  return {
    node: stack,
    focus: () => box.focus({ preventScroll: true }),
    /**
     * Fetches everything anew, and shows what there was until that is there; `keepPlace`:
     * without jumping to the top. Gives nothing where it was asked once more meanwhile.
     */
    async reset(keepPlace) {
      const own = ++age;
      // What is in sight comes with the first page, so that it never gives way to nothing.
      const sight = keepPlace ? Math.floor(box.scrollTop / height / PAGE) : 0;
      const [answer, seen] = await Promise.all([fetch(0, PAGE), sight ? fetch(sight * PAGE, PAGE) : null]);
      if (own !== age) return null;
      pages.clear();
      pages.set(0, answer.rows);
      if (seen) pages.set(sight, seen.rows);
      wanted = null;
      for (const node of drawn.values()) node.remove();
      drawn.clear();
      if (!keepPlace) { box.scrollTop = 0; at = 0; }
      resize(answer.total);
      stack.querySelector('.empty')?.remove();
      if (empty && answer.total === 0) stack.append(empty());
      paint();
      return answer;
    },
    /** Goes to a row, if it is among those that are there. */
    point(is) {
      for (const [page, all] of pages) {
        const n = all.findIndex(is);
        if (n < 0) continue;
        at = page * PAGE + n;
        select();
        return;
      }
    },
    get total() { return total; },
  };
}
