// What the Node drivers share: the command line, the survey and the watch.
//
// A driver hands in an adapter with `listResources`, `listTemplates`, `listTools`,
// `read`, `call`, `watch` and `protocolVersion`; everything a test compares is built
// here, so that two drivers can differ only in the client library they use.

import { existsSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const MODERN = "2026-07-28";
// A server that hands out cursors for ever must fail the run, not hang it.
const MAX_PAGES = 1000;
const WATCH_MS = 10_000;
const LISTED_MS = 30_000;
// A client that lost its stream waits a while before it comes back.
const PAUSE_MS = 60_000;

// The clients say things on the console; stdout is for the one object a test reads.
console.log = console.info = console.debug = console.error;

const FLAGS = {
  "--http": "http",
  "--sse": "sse",
  "--era": "era",
  "--token": "token",
  "--until-listed": "untilListed",
  "--until-tool": "untilTool",
  "--watch": "watch",
  "--pause": "pause",
};

/** Loads a package from the peer environment: it is installed there, not beside this file. */
export function peer(name) {
  return createRequire(join(peersDir(), "npm", "package.json"))(name);
}

export function peersDir() {
  const dir = process.env.TROVE_PEERS;
  if (!dir) throw new Error("TROVE_PEERS is not set; run `cargo xtask test`");
  return dir;
}

export function parse(argv) {
  const options = { stdio: [], era: "auto", reads: [], triggerArgs: {} };
  while (argv.length > 0) {
    const flag = argv.shift();
    if (flag === "--stdio") {
      // Everything after --stdio belongs to the server, options included.
      options.stdio = argv.splice(0);
    } else if (flag === "--read-template") {
      options.reads.push(argv.shift());
    } else if (flag === "--trigger") {
      options.trigger = argv.shift();
      if (argv.length > 0 && !argv[0].startsWith("--")) options.triggerArgs = JSON.parse(argv.shift());
    } else if (FLAGS[flag]) {
      options[FLAGS[flag]] = argv.shift();
    } else {
      throw new Error(`unknown argument ${flag}`);
    }
  }
  const targets = [options.stdio.length > 0, options.http, options.sse].filter(Boolean);
  if (targets.length !== 1) throw new Error("exactly one of --stdio, --http and --sse is needed");
  if (!options.watch !== !options.trigger) throw new Error("--watch and --trigger go together");
  return options;
}

export function headers(options) {
  return options.token ? { Authorization: `Bearer ${options.token}` } : {};
}

async function everyPage(page) {
  const items = [];
  let cursor;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const [found, next] = await page(cursor);
    items.push(...found);
    if (next === undefined) return items;
    cursor = next;
  }
  throw new Error(`still a next cursor after ${MAX_PAGES} pages`);
}

// Servers without resources refuse the method; to a survey that is the same as none.
async function absentIsEmpty(page) {
  try {
    return await everyPage(page);
  } catch (refused) {
    if (errorOf(refused).code === -32601) return [];
    throw refused;
  }
}

// A gateway answers before its upstreams have; poll until what is named has arrived.
async function waitForUpstreams(adapter, { untilListed, untilTool }) {
  if (untilListed) await waitUntil((cursor) => adapter.listResources(cursor), "uri", untilListed);
  if (untilTool) await waitUntil((cursor) => adapter.listTools(cursor), "name", untilTool);
}

async function waitUntil(page, key, value) {
  const deadline = Date.now() + LISTED_MS;
  while (!(await absentIsEmpty(page)).some((item) => item[key] === value)) {
    if (Date.now() > deadline) throw new Error(`${value} was not listed within ${LISTED_MS} ms`);
    await new Promise((wake) => setTimeout(wake, 100));
  }
}

export function errorOf(refused) {
  return { code: refused?.code ?? null, message: refused?.message ?? String(refused) };
}

async function survey(name, adapter, options) {
  await waitForUpstreams(adapter, options);
  const resources = await absentIsEmpty((cursor) => adapter.listResources(cursor));
  const templates = await absentIsEmpty((cursor) => adapter.listTemplates(cursor));
  const reads = {};
  for (const uri of [...resources.map((item) => item.uri), ...options.reads]) {
    try {
      reads[uri] = { contents: await adapter.read(uri) };
    } catch (refused) {
      reads[uri] = { error: errorOf(refused) };
    }
  }
  return { client: name, protocolVersion: adapter.protocolVersion(), resources, templates, reads };
}

async function watch(name, adapter, options) {
  await waitForUpstreams(adapter, options);
  const trigger = () => adapter.call(options.trigger, options.triggerArgs);
  const updated = await adapter.watch(options.watch, trigger, WATCH_MS);
  return { client: name, protocolVersion: adapter.protocolVersion(), updated };
}

// Lists a page, lets the test start the server again, and goes on in the same session.
async function goOn(name, adapter, options) {
  await waitForUpstreams(adapter, options);
  await adapter.subscribe(options.watch);
  const [first, cursor] = await adapter.listResources(undefined);
  // Only what is heard from here on tells of the restart.
  adapter.forget();
  await pause(options.pause);
  const [second] = await adapter.listResources(cursor);
  await within(PAUSE_MS, adapter.listChanged());
  // Whoever comes back is told of each resource it watches; the next update is a real one.
  await within(PAUSE_MS, adapter.updated());
  await adapter.call(options.trigger, options.triggerArgs);
  const updated = await within(PAUSE_MS, adapter.updated());
  return { client: name, first: first.length, second: second.length > 0, listChanged: true, updated };
}

async function pause(file) {
  writeFileSync(`${file}.begun`, "");
  const deadline = Date.now() + PAUSE_MS;
  while (!existsSync(`${file}.over`)) {
    if (Date.now() > deadline) throw new Error(`the pause was not over within ${PAUSE_MS} ms`);
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

/** Resolves with `promise`, or rejects once the time is up. */
export function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no update within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

/** Connects with `connect(options)`, prints one JSON object, and closes what `connect` opened. */
export async function run(name, connect) {
  const options = parse(process.argv.slice(2));
  const adapter = await connect(options);
  try {
    const work = options.pause ? goOn : options.watch ? watch : survey;
    const found = await work(name, adapter, options);
    process.stdout.write(`${JSON.stringify(sorted(found))}\n`);
  } finally {
    await adapter.close();
  }
}

/**
 * The adapter both TypeScript generations share: their `Client` classes agree on these calls.
 * `updates` gathers the URIs of update notifications, `subscribe(uri)` asks for them; `changes`
 * gathers the notifications that the list is another one.
 */
export function adapt(client, { protocolVersion, subscribe, updates, changes, requestOptions }) {
  return {
    protocolVersion,
    subscribe,
    updated: () => updates.next(),
    listChanged: () => changes.next(),
    forget: () => [updates, changes].forEach((queue) => queue.clear()),
    async listResources(cursor) {
      const page = await client.listResources(paging(cursor), requestOptions);
      return [page.resources, page.nextCursor];
    },
    async listTemplates(cursor) {
      const page = await client.listResourceTemplates(paging(cursor), requestOptions);
      return [page.resourceTemplates, page.nextCursor];
    },
    async listTools(cursor) {
      const page = await client.listTools(paging(cursor), requestOptions);
      return [page.tools, page.nextCursor];
    },
    async read(uri) {
      return (await client.readResource({ uri }, requestOptions)).contents;
    },
    async call(tool, args) {
      await client.callTool({ name: tool, arguments: args });
    },
    async watch(uri, trigger, ms) {
      await subscribe(uri);
      await trigger();
      return within(ms, updates.next());
    },
    close: () => client.close(),
  };
}

/** A queue of update notifications that can be awaited before or after one arrives. */
export function updateQueue() {
  const arrived = [];
  const waiting = [];
  return {
    push(uri) {
      if (waiting.length > 0) waiting.shift()(uri);
      else arrived.push(uri);
    },
    clear: () => arrived.splice(0),
    next: () => (arrived.length > 0 ? Promise.resolve(arrived.shift()) : new Promise((take) => waiting.push(take))),
  };
}

function paging(cursor) {
  return cursor === undefined ? {} : { cursor };
}
