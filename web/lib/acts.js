// What one does to servers: add, approve, restart, remove. Each change is shown before it is made,
// and made by the command that the command line has for it.

import { ask, send } from './api.js';
import { fill, h, say } from './dom.js';
import { standing } from './servers.js';
import { many, visible } from './text.js';

/** A dialog with a head; `draw` fills it and is given a way to close it. */
function sheet(title, draw) {
  const body = h('div.acting');
  const dialog = h('dialog.keysheet.sheet2', { 'aria-labelledby': 'sheet-title', onclose: () => dialog.remove() }, h('h2', { id: 'sheet-title' }, title), body);
  const close = () => dialog.close();
  document.body.append(dialog);
  dialog.showModal();
  draw(body, close);
}

const cancel = (close) => h('button', { type: 'button', onclick: close }, 'Cancel');

/** Does it, and shows in `fault` why it could not be done. */
async function tried(fault, button, work) {
  button.disabled = true;
  fill(fault);
  try {
    await work();
  } catch (error) {
    fill(fault, visible(error.message), error.next?.length ? ` – ${visible(error.next[0])}` : '');
  }
  button.disabled = false;
}

/** Lines of the configuration that come (`+`) or go (`-`). */
function change(lines) {
  const shade = (line) => (line.startsWith('+') ? 'come' : 'go');
  return h('pre.box.diff', { tabIndex: 0, role: 'group', 'aria-label': 'The change' }, lines.filter(Boolean).map((line) => h('span', { class: shade(line) }, `${visible(line)}\n`)));
}

/** The entry of a server as it stands in the configuration, secrets masked. */
async function entryOf(id) {
  const { settings } = await ask('settings');
  const entry = settings?.config?.servers?.[id] ?? {};
  const line = (key) => (entry[key] === undefined ? null : `- ${key} = ${JSON.stringify(entry[key])}`);
  return [`- [servers.${id}]`, ...['url', 'command', 'args', 'env', 'headers', 'recipe'].map(line)];
}

/** Stops a server and starts it anew. */
export async function restart(id) {
  try {
    await send('servers/restart', { id });
    say(`${id} is started anew`);
  } catch (error) {
    sheet(`${id} was not restarted`, (body, close) => fill(body, h('p', null, visible(error.message)), h('p.soft', null, error.next?.[0] ?? ''), h('div.line', null, cancel(close))));
  }
}

/** Takes a server out of the configuration. */
export function remove(id) {
  sheet(`Remove ${id}`, async (body, close) => {
    const fault = h('p.fault', { role: 'alert' });
    const go = h('button', { type: 'submit', disabled: true }, 'Remove it');
    const form = h('form', { onsubmit(event) {
      event.preventDefault();
      tried(fault, go, async () => {
        await send('servers/remove', { id });
        close();
        say(`${id} is removed`);
      });
    } }, fault, h('div.line', null, go, cancel(close)));
    fill(body, form);
    await tried(fault, go, async () => {
      await send('servers/remove', { id, dry_run: true });
      form.prepend(h('p', null, 'It is stopped, and its entry leaves the configuration. A copy of the file as it was is kept beside it.'), change(await entryOf(id)));
    });
    go.focus();
  });
}

/** Shows what a server would run, whole, and lets it. */
export function approve(id) {
  sheet(`Let ${id} run?`, async (body, close) => {
    const fault = h('p.fault', { role: 'alert' });
    const go = h('button', { type: 'submit', disabled: true }, 'Let it run');
    let sha256 = null;
    const form = h('form', { onsubmit(event) {
      event.preventDefault();
      tried(fault, go, async () => {
        await send('servers/approve', { id, sha256 });
        close();
        say(`${id} may run`);
      });
    } }, fault, h('div.line', null, go, cancel(close)));
    fill(body, form);
    await tried(fault, go, async () => {
      const { servers, file } = await ask('approvals');
      const one = servers.find((server) => server.id === id);
      if (!one) throw new Error('it is not in the configuration any more');
      sha256 = one.sha256 ?? null;
      form.prepend(h('p', null, 'It came with a file that you did not name yourself, so nothing of it was started. This is what would be run, as you and with your rights:'), run(one, file));
    });
  });
}

function run(one, file) {
  const rows = [
    ['serves', one.folder], ['runs', one.command ? [one.command, ...(one.args ?? [])].map(quoted).join(' ') : null], ['program', one.command ? one.program ?? 'not found' : null], ['in', one.cwd],
    ['variables', one.env?.join(', ')], ['file', file], ...(one.differences ?? []).map((text) => ['changed', text]),
  ];
  return h('dl.pairs', null, rows.filter(([, value]) => value).map(([name, value]) => [h('dt', null, name), h('dd.mono', null, visible(value))]));
}

const quoted = (word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The words of a command as a shell would part them; `null` where a quote does not end. */
export function words(text) {
  const all = [];
  let word = null;
  let quote = '';
  for (let n = 0; n < text.length; n += 1) {
    const c = text[n];
    if (quote) {
      if (c === quote) quote = '';
      else if (c === '\\' && quote === '"' && n + 1 < text.length) word += text[n += 1];
      else word += c;
    } else if (c === '"' || c === "'") {
      quote = c;
      word ??= '';
    } else if (c === '\\' && n + 1 < text.length) word = (word ?? '') + text[n += 1];
    else if (/\s/.test(c)) {
      if (word !== null) all.push(word);
      word = null;
    } else word = (word ?? '') + c;
  }
  if (quote) return null;
  if (word !== null) all.push(word);
  return all;
}

/** Adds a server: a form, the change it makes, and what came of it. */
export function add() {
  sheet('Add a server', (body, close) => {
    const field = (id, label, props) => {
      const input = h(props.rows ? 'textarea.mono' : 'input.mono', { id, autocomplete: 'off', spellcheck: false, ...props });
      return { input, node: h('div.field', null, h('label', { htmlFor: id }, label), input) };
    };
    const name = field('new-name', 'Name', { type: 'text', required: true, placeholder: 'docs' });
    const reach = field('new-reach', 'Command, URL or folder', { type: 'text', required: true, placeholder: 'npx -y some-server   or   https://…/mcp   or   /a/folder/' });
    const more = field('new-more', 'Variables, or headers of a URL', { rows: 2, placeholder: 'TOKEN=${MY_TOKEN}   or   Authorization: Bearer ${MY_TOKEN}, one a line' });
    const fault = h('p.fault', { role: 'alert' });
    const look = h('button', { type: 'submit' }, 'Show the change');
    const form = h('form.filling', { onsubmit: seen }, name.node, reach.node, more.node,
      h('p.soft.small', null, 'A secret written as ', h('code', null, '${NAME}'), ' stays out of the file: it is taken from the environment of Trove.'), fault, h('div.line', null, look, cancel(close)));
    fill(body, form);
    name.input.focus();

    function wanted() {
      const isUrl = /^https?:\/\//.test(reach.input.value.trim());
      const folder = reach.input.value.trim();
      if (/^\/.*\/$/.test(folder)) return { name: name.input.value.trim(), folder };
      const lines = more.input.value.split('\n').map((line) => line.trim()).filter(Boolean);
      const command = isUrl ? [] : words(reach.input.value);
      if (command === null) throw new Error('a quote of the command does not end');
      const way = isUrl ? { url: reach.input.value.trim(), header: lines } : { command, env: lines };
      return { name: name.input.value.trim(), ...way };
    }

    function seen(event) {
      event.preventDefault();
      tried(fault, look, async () => {
        const entry = wanted();
        const { diff } = await send('servers/add', { ...entry, dry_run: true });
        const go = h('button', { type: 'submit' }, 'Add it');
        const wrong = h('p.fault', { role: 'alert' });
        const sure = h('form', { onsubmit(done) {
          done.preventDefault();
          tried(wrong, go, async () => {
            await send('servers/add', entry);
            await outcome(body, close, entry.name);
          });
        } }, h('p', null, 'This is what is written, and started at once:'), change(diff.split('\n')), wrong, h('div.line', null, go, h('button', { type: 'button', onclick: () => fill(body, form) }, 'Back'), cancel(close)));
        fill(body, sure);
        go.focus();
      });
    }
  });
}

const LOOKS = 100;
const PAUSE = 300;

/** Waits until a new server has answered or failed, and says what it has. */
async function outcome(body, close, name) {
  const said = h('p', { role: 'status' }, 'It is being started …');
  fill(body, said, h('div.line', null, h('button', { type: 'button', onclick: close }, 'Close')));
  for (let left = LOOKS; left > 0 && body.isConnected; left -= 1) {
    await new Promise((done) => setTimeout(done, PAUSE));
    const { health, waiting } = await ask('overview').catch(() => ({ health: { sources: [] }, waiting: [] }));
    const source = health.sources.find((one) => one.id === name || one.id === name.toLowerCase().replace(/[^a-z0-9]+/g, '-'));
    if (!source) continue;
    const [shade, word] = standing(source, waiting);
    if (waiting.includes(source.id)) {
      fill(said, 'It waits for approval. ', h('button', { type: 'button', onclick() { close(); approve(source.id); } }, 'See what it runs'));
      return;
    }
    if (source.last_error && source.state !== 'ready') {
      fill(said, h('span.bad', null, `It is ${word}: `), visible(source.last_error), '. Its card on Home goes on telling.');
      return;
    }
    if (shade === 'good') {
      const has = [[source.resources, 'resource'], [source.templates, 'template'], [source.tools, 'tool'], [source.prompts, 'prompt']].filter(([n]) => n).map(([n, one]) => many(n, one));
      fill(said, h('span.good', null, 'It answers. '), has.length ? `It has ${has.join(', ')}.` : 'It lists nothing yet.');
      return;
    }
  }
  fill(said, 'It has not answered yet. Its card on Home goes on telling.');
}
