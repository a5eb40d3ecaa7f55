// Areas as large as their weights, in rectangles near to squares.

/**
 * Lays out weighted things in a rectangle, row by row along its shorter side.
 * @param {{weight: number}[]} things
 * @returns {{thing: object, x: number, y: number, w: number, h: number}[]}
 */
export function layout(things, x, y, w, h) {
  const all = things.filter((thing) => thing.weight > 0).sort((a, b) => b.weight - a.weight);
  const total = all.reduce((sum, thing) => sum + thing.weight, 0);
  const placed = [];
  let rest = all.map((thing) => ({ thing, area: (thing.weight / total) * w * h }));
  while (rest.length) {
    const side = Math.min(w, h);
    let n = 1;
    while (n < rest.length && worst(rest.slice(0, n + 1), side) <= worst(rest.slice(0, n), side)) n += 1;
    const row = rest.slice(0, n);
    rest = rest.slice(n);
    const area = row.reduce((sum, one) => sum + one.area, 0);
    const depth = side > 0 ? area / side : 0;
    let along = 0;
    for (const one of row) {
      const length = depth > 0 ? one.area / depth : 0;
      placed.push(w >= h ? { thing: one.thing, x, y: y + along, w: depth, h: length } : { thing: one.thing, x: x + along, y, w: length, h: depth });
      along += length;
    }
    if (w >= h) {
      x += depth;
      w -= depth;
    } else {
      y += depth;
      h -= depth;
    }
  }
  return placed;
}

/** How far from a square the worst of a row is. */
function worst(row, side) {
  const area = row.reduce((sum, one) => sum + one.area, 0);
  const depth = area / side;
  return Math.max(...row.map((one) => Math.max((depth * depth) / one.area, one.area / (depth * depth))));
}
