// How servers do, in the same words in every view.

const WORDS = {
  ready: ['good', 'ready'], connecting: ['fair', 'connecting'], backoff: ['fair', 'trying again'], 'circuit-open': ['bad', 'failing'], 'cut-off': ['bad', 'cut off'],
  stopped: ['idle', 'stopped'], idle: ['idle', 'not started'],
};

/** Those of somebody else; the rest is Trove's own. */
export const others = (health) => health.sources.filter((source) => source.transport !== 'builtin');

/** Whether its list is only a memory, or was never fetched. */
const isOld = (source) => source.stale_seconds !== undefined;

/** It answers, and what it lists now is what is shown. */
export const isWell = (source) => source.state === 'ready' && !isOld(source);

/** The shade and the word for how a server does; `waiting` are those that nobody has approved yet. */
export function standing(source, waiting = []) {
  if (waiting.includes(source.id)) return ['fair', 'waits for approval'];
  if (source.state === 'ready' && isOld(source)) return ['fair', 'not listed yet'];
  return WORDS[source.state] ?? ['idle', source.state];
}

/** How many do well, of how many, and the shade of that. */
export function tally(health) {
  const all = others(health);
  const well = all.filter(isWell).length;
  const some = well ? 'fair' : 'bad';
  const shade = well === all.length ? 'good' : some;
  return { all: all.length, well, shade: all.length ? shade : 'idle' };
}

/** What is shown of a server that does not answer; nothing where it never listed anything. */
export function memory(source) {
  if (!isOld(source) || isWell(source)) return null;
  const has = source.resources || source.templates || source.tools || source.prompts;
  return has ? 'What it listed before is kept and shown.' : null;
}
