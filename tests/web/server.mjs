// A small MCP server for the tests of the page: one resource of every kind, some of them
// hostile, a template with completions, and changes to order. It speaks the legacy era
// over stdio and needs nothing but Node.
//
//   server.mjs NAME [--many N] [--orders FILE] [--fail] [--plain]
//
// Whoever appends `update` or `list` to the orders file makes it announce that.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const args = process.argv.slice(2);
const name = args[0];
const option = (flag) => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
const many = Number(option('--many') ?? 0);
const orders = option('--orders');
const isPlain = args.includes('--plain');

if (args.includes('--fail')) {
  console.error(`${name}: reading settings`);
  console.error(`${name}: no database at localhost:5432, giving up`);
  process.exit(3);
}

// A picture of 96 by 96 points.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAGAAAABgCAIAAABt+uBvAAAA+ElEQVR42u3buw3CQBRFQVdAaTRDDRRGM4RIUAExCbLY91mzI50KJvO+6+3+fOhLGwJAgAABAgQIECABAgQIECBAgAAJUAjQ6XpZJ0CAAAECBAgQoFqg1+28p+WAdrpUSs0C9DNNNtMUQCE6SUb9QIE6GUadQOE0GUxtQKk6gUaApgQq0IkyagAq0wkxqgYq1hk3AjQTUIvOoBEgQEcBatQZMQIECBAgQIAAAQIECBAgQP8M5GseECBv0oDcxY5+F3NZdZsHZB9kYWajaOW61srVTtrS3r8agAABAgQIEKAlgAQIECBAgAABAgRIgAABAgQIECBA+uwNFki5MDX62swAAAAASUVORK5CYII=';
export const HOSTILE = '<script>parent.pwned=1;fetch("http://evil.test/")</script><img src="http://evil.test/x.png" onerror="parent.pwned=1"><iframe src="javascript:parent.pwned=1"></iframe>';
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 80" onload="parent.pwned=1"><script>parent.pwned=1</script><image href="http://evil.test/svg.png" width="9" height="9"/><rect width="120" height="80" rx="10" fill="#0e8573"/><circle cx="60" cy="40" r="22" fill="#f2c14e"/></svg>`;

/** A number as so many bytes, the smallest first. */
function word(value, length) {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntLE(value, 0, length);
  return bytes;
}

const GUIDE = `---
title: Release runbook
owner: platform
---
# Release runbook

How a release goes out, from the branch to the last replica. It takes **forty minutes**, of which you wait thirty.

## Before

- [x] The changelog names everything a user will notice
- [x] \`cargo xtask ci\` is green on \`main\`
- [ ] Somebody else knows that you are doing this

> A release that only one person can stop is not a release, it is a hope.

## The steps

1. Tag the commit: \`git tag -s v1.4.0\`
2. Wait for the packages, then look at [the board](https://example.test/board).
3. Roll out by region:

| region | replicas | wait |
|---|---|---|
| north | 4 | 5 min |
| south | 6 | 10 min |

\`\`\`sh
trove status --json | jq '.sources[] | select(.state != "ready")'
\`\`\`

## When it goes wrong

Roll back first, ask *why* later. The old version is still there for a day:

\`\`\`
kubectl rollout undo deployment/trove
\`\`\`
`;
const ORDERS = { id: 'o-1042', customer: { name: 'Ann Rivers', since: 2019 }, items: [{ sku: 'lamp', count: 2, price: 39.5 }, { sku: 'desk', count: 1, price: 420 }], paid: true, note: null, tags: ['gift', 'north'] };
const CSV = `region,month,orders,revenue,remark\n${['north', 'south', 'east', 'west'].flatMap((region, r) => ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun'].map((month, m) => `${region},${month},${120 + r * 37 + m * 11},${(9800 + r * 1210 + m * 433.5).toFixed(2)},${m === 3 ? '"holiday, ""late"""' : ''}`)).join('\n')}\n`;
const CODE = `from dataclasses import dataclass\n\n\n@dataclass\nclass Window:\n    """A part of a text, and where the next one begins."""\n\n    text: str\n    next_offset: int | None = None\n\n    def is_last(self) -> bool:\n        return self.next_offset is None\n`;
const NOTEBOOK = JSON.stringify({
  metadata: { kernelspec: { language: 'python' } }, nbformat: 4, nbformat_minor: 5,
  cells: [
    { cell_type: 'markdown', source: ['# A plot\n', 'Of *nothing*.'] },
    { cell_type: 'code', source: 'import math\nprint(math.pi)', outputs: [{ output_type: 'stream', name: 'stdout', text: ['3.14159\n'] }, { output_type: 'display_data', data: { 'image/png': PNG } }] },
  ],
});
// A tenth of a second of silence.
const WAV = Buffer.concat([Buffer.from('RIFF'), word(36 + 800, 4), Buffer.from('WAVEfmt '), word(16, 4), word(1, 2), word(1, 2), word(8000, 4), word(8000, 4), word(1, 2), word(8, 2), Buffer.from('data'), word(800, 4), Buffer.alloc(800, 128)]).toString('base64');
let counter = 0;

const OWN = {
  'docs://runbooks/release.md': ['Release runbook', 'How a release goes out, step by step', 'text/markdown', () => GUIDE],
  'docs://runbooks/incident.md': ['Incident runbook', 'Who does what when the pager rings', 'text/markdown', () => '# Incident\n\nBreathe. Then read the [release runbook](release.md), not [this](http://evil.test/x).\n\n![The mark](docs://images/mark.png)'],
  'docs://orders/o-1042.json': ['Order o-1042', 'One order with its items', 'application/json', () => JSON.stringify(ORDERS)],
  'docs://tables/revenue.csv': ['Revenue by region', 'Orders and revenue of the first half-year', 'text/csv', () => CSV],
  'docs://src/window.py': ['window.py', 'Cuts a text into parts', 'text/x-python', () => CODE],
  'docs://images/mark.png': ['Mark', 'The small mark', 'image/png', null, PNG],
  'docs://archive/dump.bin': ['Dump', 'Every byte once', 'application/octet-stream', null, Buffer.from(Array.from({ length: 256 }, (_, n) => n)).toString('base64')],
  'docs://notes/plot.ipynb': ['A notebook', 'Two cells and a plot', 'application/x-ipynb+json', () => NOTEBOOK],
  'docs://sounds/beep.wav': ['Beep', 'A tenth of a second', 'audio/wav', null, WAV],
  'docs://live/counter': ['Counter', 'Grows with every order to update', 'text/plain', () => `The counter stands at ${counter}.`],
  'docs://long/log.txt': ['A long log', 'Five megabytes of lines', 'text/plain', () => 'the quick brown fox jumps over the lazy dog\n'.repeat(120_000)],
  'docs://hostile/page.html': ['Hostile page', 'Scripts and pictures from elsewhere', 'text/html', () => HOSTILE],
  'docs://hostile/page.md': [`Hostile ${HOSTILE}`, `Markdown \u202egnihton\u202c \u200b${HOSTILE}`, 'text/markdown', () => `# ${HOSTILE}\n\n[click](javascript:parent.pwned=1) ![x](http://evil.test/md.png)\n\n${HOSTILE}`],
  'docs://hostile/picture.svg': ['Hostile picture', 'A drawing with a script in it', 'image/svg+xml', () => SVG],
  'docs://hostile/data.json': ['Hostile data', 'Names that are tags', 'application/json', () => JSON.stringify({ [HOSTILE]: HOSTILE })],
  'docs://empty': ['Empty', 'Nothing at all', 'text/plain', () => ''],
};
const DAY = 24 * 3600 * 1000;
const listed = (isAfter) => {
  const own = isPlain ? [] : Object.entries(OWN).map(([uri, [title, description, mimeType, text, blob]], n) => ({
    uri, name: title, description, mimeType, size: blob ? Buffer.from(blob, 'base64').length : Buffer.byteLength(text()),
    annotations: { lastModified: new Date(Date.now() - n * n * DAY * 3).toISOString() },
  }));
  const words = ['invoice', 'contract', 'minutes', 'sketch', 'budget', 'letter', 'survey', 'protocol'];
  const rest = Array.from({ length: many }, (_, n) => ({
    uri: `file:///${name}/${['finance', 'legal', 'design', 'people'][n % 4]}/${2020 + (n % 7)}/${words[n % 8]}-${n}.txt`, name: `${words[n % 8]} ${n}`,
    description: `The ${words[n % 8]} number ${n} of the ${['finance', 'legal', 'design', 'people'][n % 4]} share`, mimeType: n % 5 ? 'text/plain' : 'text/markdown', size: (n * 7919) % 2_000_000,
  }));
  const shared = [{ uri: 'shared://handbook', name: 'Handbook', description: `The handbook as ${name} has it`, mimeType: 'text/markdown' }];
  const added = isAfter ? [{ uri: 'docs://live/added', name: 'Added later', description: 'It was not there at first', mimeType: 'text/plain' }] : [];
  return [...own, ...shared, ...rest, ...added];
};
const DAYS = ['2026-11-12', '2026-11-13', '2026-11-14', '2026-11-15'];
let hasAdded = false;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

function read(uri) {
  if (uri in OWN) {
    const [, , mimeType, text, blob] = OWN[uri];
    return { contents: [text ? { uri, mimeType, text: text() } : { uri, mimeType, blob }] };
  }
  if (uri === 'docs://parts') return { contents: [{ uri: 'docs://parts/1', mimeType: 'text/markdown', text: '# First' }, { uri: 'docs://parts/2', mimeType: 'application/json', text: '{"second":2}' }] };
  if (/^(log|file|shared|docs):\/\//.test(uri) && uri !== 'docs://missing') return { contents: [{ uri, mimeType: 'text/plain', text: `${name} says: this is ${uri}` }] };
  return null;
}

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, serverInfo: { name: `${name}-server`, version: '1.0' },
    capabilities: { resources: { subscribe: true, listChanged: true }, completions: {} },
  }),
  ping: () => ({}),
  'resources/list': () => ({ resources: listed(hasAdded) }),
  'resources/templates/list': () => ({
    resourceTemplates: isPlain ? [] : [
      { uriTemplate: 'log://{day}/{level}', name: 'Log of a day', description: 'What the service wrote on one day, by level', mimeType: 'text/plain' },
      { uriTemplate: 'docs://find{?q,limit}', name: 'Find documents', description: 'Documents that hold a word', mimeType: 'application/json' },
    ],
  }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'completion/complete': ({ argument }) => {
    const values = { day: DAYS, level: ['error', 'info', 'warning'] }[argument.name] ?? [];
    return { completion: { values: values.filter((value) => value.startsWith(argument.value)), hasMore: false } };
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (method === 'notifications/cancelled') console.error(`${name}: told to stop`);
  if (id === undefined) return;
  // Nobody waits that long.
  if (params.uri === 'docs://slow') {
    console.error(`${name}: thinking`);
    return;
  }
  if (method === 'resources/read') {
    const result = read(params.uri);
    if (result) send({ id, result });
    else send({ id, error: { code: -32002, message: `there is no ${params.uri}` } });
  } else if (method in ANSWERS) send({ id, result: ANSWERS[method](params) });
  else send({ id, error: { code: -32601, message: 'method not found' } });
}).on('close', () => process.exit(0));

if (orders) {
  let seen = 0;
  setInterval(() => {
    let text = '';
    try { text = readFileSync(orders, 'utf8'); } catch { return; }
    const fresh = text.slice(seen).split('\n');
    seen = text.length;
    for (const order of fresh) {
      if (order === 'update') { counter += 1; send({ method: 'notifications/resources/updated', params: { uri: 'docs://live/counter' } }); }
      if (order === 'list') { hasAdded = true; send({ method: 'notifications/resources/list_changed' }); }
    }
  }, 50);
}
console.error(`${name}: ready`);
