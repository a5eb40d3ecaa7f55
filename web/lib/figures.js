// Figures as Prometheus reads them: sums, and how long most of a kind took.

/** Prometheus text as `{ name: [[labels, value]] }`. */
export function parse(text) {
  const all = {};
  for (const line of text.split('\n')) {
    const found = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!found) continue;
    const labels = Object.fromEntries([...(found[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map((one) => [one[1], one[2]]));
    (all[found[1]] ??= []).push([labels, Number(found[3])]);
  }
  return all;
}

export const sum = (values = [], keep = () => true) => values.filter(([labels]) => keep(labels)).reduce((all, [, value]) => all + value, 0);

/**
 * Within how many milliseconds this share of the requests was answered, read off a histogram;
 * null before the first. Inside a bucket the requests are taken to be spread evenly.
 */
export function within(share, buckets = [], keep = () => true) {
  const steps = buckets.filter(([labels]) => keep(labels)).map(([labels, n]) => [labels.le === '+Inf' ? Infinity : Number(labels.le), n]);
  steps.sort(([a], [b]) => a - b);
  const total = steps.at(-1)?.[1] ?? 0;
  if (!total) return null;
  const wanted = share * total;
  let [from, before] = [0, 0];
  for (const [to, n] of steps) {
    if (n >= wanted) {
      const inside = n > before ? (wanted - before) / (n - before) : 1;
      return 1000 * (to === Infinity ? from : from + (to - from) * inside);
    }
    [from, before] = [to, n];
  }
  return 1000 * from;
}
