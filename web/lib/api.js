// Questions to Trove. A pass is kept in two halves: a cookie that no script sees, and a
// key that no other port sees.

const KEY = 'trove-key';

/** Why there was no answer, and what to do about it. */
export class Refused extends Error {
  constructor(status, body) {
    super(body.message ?? `Trove answered ${status}`);
    this.status = status;
    this.kind = body.error;
    this.next = body.next ?? [];
    this.candidates = body.candidates ?? [];
  }
}

const silent = () => new Refused(0, { message: 'Trove does not answer', next: ['See whether it still runs where it was started.', 'This page connects again by itself.'] });

function headers() {
  const key = localStorage.getItem(KEY);
  return key ? { 'x-trove-key': key } : {};
}

const early = {};

/** Asks before somebody does; the answer is for the next who asks the same. */
export function prefetch(path) {
  early[path] = ask(path);
  early[path].catch(() => {});
}

/** The body of an answer; one that was broken off is none. */
async function bodyOf(answer, signal) {
  try {
    return await answer.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    return {};
  }
}

/** Asks; values that are lists are repeated, those that are nothing are left out. */
export async function ask(path, params = {}, signal) {
  if (early[path] && !Object.keys(params).length) {
    const answer = early[path];
    delete early[path];
    return answer;
  }
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== '') query.append(name, one);
  }
  let answer;
  try {
    answer = await fetch(`/api/${path}?${query}`, { headers: headers(), signal, credentials: 'same-origin' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw silent();
  }
  const body = await bodyOf(answer, signal);
  if (!answer.ok) throw new Refused(answer.status, body);
  return body;
}

/** Sends something. */
export async function send(path, body, signal) {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, {
      method: 'POST', credentials: 'same-origin', signal, headers: { ...headers(), 'content-type': 'application/json' }, body: JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw silent();
  }
  const said = await bodyOf(answer, signal);
  if (!answer.ok) throw new Refused(answer.status, said);
  return said;
}

/** Exchanges the token for a pass. */
export async function enter(token) {
  const answer = await fetch('/api/session', {
    method: 'POST', credentials: 'same-origin', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ token }),
  });
  const body = await bodyOf(answer);
  if (!answer.ok) throw new Refused(answer.status, body);
  localStorage.setItem(KEY, body.key);
}

/** Hears of changes until `signal` ends it; connects again when the line breaks. */
export async function listen(watch, hear, signal) {
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 5000)) {
    try {
      const query = watch ? `?${new URLSearchParams({ watch })}` : '';
      const answer = await fetch(`/api/events${query}`, { headers: headers(), signal, credentials: 'same-origin' });
      if (answer.ok) {
        pause = 500;
        await read(answer.body, hear);
      } else if (answer.status === 401 || answer.status === 403) {
        hear('locked', {});
        return;
      }
    } catch { /* the line broke */ }
    if (signal.aborted) return;
    hear('lost', {});
    await new Promise((done) => setTimeout(done, pause));
  }
}

async function read(body, hear) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const name = /^event: (.*)$/m.exec(event)?.[1];
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (name) hear(name, JSON.parse(data));
    }
  }
}
