// The readings of a server on Node: WHATWG URLs, the old url.parse, and what is done with a path.
import { createInterface } from "node:readline";
import { parse, fileURLToPath, domainToUnicode } from "node:url";
import { posix } from "node:path";

const MAX_DECODINGS = 4;

const attempt = (work) => {
  try {
    return work();
  } catch {
    return undefined;
  }
};
const decoded = (text) => attempt(() => decodeURIComponent(text)) ?? unescape(text);
const fold = (text) => text.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC");
const clean = (path) =>
  posix.normalize("/" + path.replaceAll("\\", "/").replace(/;[^/]*/g, ""))
    .replace(/[. \0]+(?=\/|$)/g, "").replace(/\/+/g, "/").replace(/(.)\/$/, "$1");

function addPlace(keys, kind, scheme, host, path, query) {
  const place = `${scheme}|${host}|`;
  if (query !== undefined && query !== "") {
    for (const [name, value] of new URLSearchParams(query)) {
      keys.push(`${kind}:query:${place}${path}|${name}=${value}`);
      keys.push(`${kind}:query:${place}${path}|${fold(`${name}=${value}`)}`);
    }
    // Of a name with a query the path alone says nothing.
    if (scheme === "api:") return;
  }
  let text = path;
  keys.push(`${kind}:path:${place}${text}`);
  for (let n = 0; n < MAX_DECODINGS; n++) {
    text = decoded(text);
    keys.push(`${kind}:path:${place}${text}`);
  }
  keys.push(`${kind}:plus:${place}${text.replaceAll("+", " ")}`);
  keys.push(`${kind}:clean:${place}${clean(text)}`);
  keys.push(`${kind}:fold:${fold(place)}${fold(clean(text))}`);
  const known = domainToUnicode(decoded(host)) || decoded(host);
  keys.push(`${kind}:whole:${scheme}|${fold(clean(known + "/" + text).replace(/^\/+|\/+$/g, ""))}`);
}

function keysOf(uri) {
  const keys = [];
  const before = new Set([uri, uri.trim(), decoded(uri), uri.replaceAll("\\", "/"), uri.normalize("NFKC")]);
  for (const text of before) {
    const url = attempt(() => new URL(text));
    if (url) {
      addPlace(keys, "whatwg", url.protocol, url.hostname, url.pathname, url.search.slice(1));
      const file = attempt(() => fileURLToPath(url));
      if (file !== undefined) keys.push(`whatwg:file:${file}`);
    }
    const old = attempt(() => parse(text));
    if (old?.protocol) {
      addPlace(keys, "old", old.protocol, old.hostname ?? "", old.pathname ?? "", old.query ?? "");
    }
  }
  return keys;
}

let known;
let place = 0;
const out = [];
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const value = JSON.parse(line);
  if (!known) {
    known = new Map(value.flatMap((name) => keysOf(name).map((key) => [key, name])));
    continue;
  }
  const names = new Set();
  for (const key of keysOf(value)) {
    const name = known.get(key);
    if (name !== undefined && !names.has(name)) {
      names.add(name);
      out.push(`${place}\t${name}\t${JSON.stringify(key)}\n`);
    }
  }
  place++;
}
process.stdout.write(out.join(""));
