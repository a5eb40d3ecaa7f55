// Two changes of one text put together, line by line.

/** Beyond so many lines it is left to people. */
const MOST = 3000;

/**
 * What becomes of `base` when both changes are made.
 * @returns {{text: string, clashes: number} | null} where both changed the same lines, both stand
 *   one after the other between marks, and are counted; null for texts that are too long
 */
export function merge(base, mine, theirs) {
  const [b, m, t] = [base, mine, theirs].map((text) => text.split('\n'));
  if (Math.max(b.length, m.length, t.length) > MOST) return null;
  const [toMine, toTheirs] = [pairs(b, m), pairs(b, t)];
  const out = [];
  let clashes = 0;
  let [i, j, k] = [0, 0, 0];
  for (;;) {
    // The next line that stayed in both.
    let next = i;
    while (next < b.length && (toMine[next] === undefined || toTheirs[next] === undefined)) next += 1;
    const isEnd = next >= b.length;
    const [toJ, toK] = isEnd ? [m.length, t.length] : [toMine[next], toTheirs[next]];
    const [was, one, two] = [b.slice(i, next), m.slice(j, toJ), t.slice(k, toK)].map((lines) => lines.join('\n'));
    const pick = (lines, from, to) => { if (to > from) out.push(...lines.slice(from, to)); };
    if (one === two && toJ - j === toK - k) pick(m, j, toJ);
    else if (one === was && toJ - j === next - i) pick(t, k, toK);
    else if (two === was && toK - k === next - i) pick(m, j, toJ);
    else {
      clashes += 1;
      out.push('<<<<<<< mine', ...m.slice(j, toJ), '=======', ...t.slice(k, toK), '>>>>>>> theirs');
    }
    if (isEnd) return { text: out.join('\n'), clashes };
    out.push(b[next]);
    [i, j, k] = [next + 1, toJ + 1, toK + 1];
  }
}

/** For each line of `a` its place in `b`, if it is in the longest that both have in common. */
function pairs(a, b) {
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const below = longest[(i + 1) * width + j];
      const beside = longest[i * width + j + 1];
      longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(below, beside);
    }
  }
  const found = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) found[i++] = j++;
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return found;
}
