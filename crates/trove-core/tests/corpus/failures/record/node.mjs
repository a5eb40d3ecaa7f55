// Records how Node's clients, SDKs, drivers and system calls word their failures.
//
// Each failure is kept as a server would show it: `error.message`, or `String(error)`, in turn.

import { spawn } from "node:child_process";
import dns from "node:dns/promises";
import fs from "node:fs/promises";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = createRequire(path.join(process.env.NODE_FOLDER ?? process.cwd(), "x.js"));
const rows = [];
let turn = 0;

const versionOf = (name) => {
  try { return modules(`${name}/package.json`).version; } catch { return ""; }
};

function keep(label, name, error) {
  turn += 1;
  let said = turn % 2 && error.message ? error.message : String(error);
  if (turn % 5 === 0 && error.code && !said.includes(error.code)) said = `${error.code}: ${error.message}`;
  rows.push([label, `Node, ${name} ${versionOf(name)}`.trim(), said]);
}

async function expect(label, name, call) {
  let timer;
  const late = new Promise((_, refuse) => { timer = setTimeout(() => refuse(new TooSlow()), 8000); });
  try {
    await Promise.race([Promise.resolve().then(call), late]);
    console.log(`no failure: ${name} ${label}`);
  } catch (error) {
    if (error instanceof TooSlow) console.log(`too slow: ${name} ${label}`);
    else if (/^Cannot find (module|package) '[@a-z]/.test(error.message)) console.log(error.message.split("\n")[0]);
    else keep(label, name, error);
  } finally {
    clearTimeout(timer);
  }
}

class TooSlow extends Error {}

const python = spawn(process.env.PYTHON ?? "python3", [path.join(here, "failing.py")], { stdio: ["pipe", "pipe", "inherit"] });
const first = await new Promise((resolve) => readline.createInterface({ input: python.stdout }).once("line", resolve));
const { doors, answers } = JSON.parse(first);
const HTTP = `http://${doors.http}`;
const BROKEN = { closed: "passing", reset: "passing", empty: "passing", hang: "passing" };
const STATUSES = { 400: "bad-argument", 401: "who-are-you", 403: "not-allowed", 404: "absent", 410: "absent", 422: "bad-argument",
  429: "passing", 500: "own-fault", 502: "passing", 503: "passing", 504: "passing" };
const scenarios = (prefix) => Object.entries(answers).filter(([name]) => name.startsWith(`${prefix}-`)).map(([name, { label }]) => [name, label]);
const load = async (name) => { const all = await import(modules.resolve(name)); return all.default && Object.keys(all).length <= 2 ? { ...all.default, default: all.default } : all; };
const soon = () => AbortSignal.timeout(500);

async function httpClients() {
  const axios = modules("axios");
  const got = (await load("got")).default ?? (await import(modules.resolve("got"))).got;
  const nodeFetch = (await import(modules.resolve("node-fetch"))).default;
  const undici = modules("undici");
  const ky = (await import(modules.resolve("ky"))).default;
  const superagent = modules("superagent");
  const checked = (name) => async (url, ask) => {
    const answer = await ask(url, { signal: soon() });
    if (!answer.ok) throw new Error(name === "fetch" ? `HTTP error! status: ${answer.status}` : `Request failed: ${answer.status} ${answer.statusText}`);
  };
  const clients = {
    fetch: (url) => checked("fetch")(url, fetch),
    "node-fetch": (url) => checked("node-fetch")(url, nodeFetch),
    axios: (url) => axios.get(url, { timeout: 500 }),
    got: (url) => got(url, { retry: { limit: 0 }, timeout: { request: 500 } }),
    undici: (url) => undici.request(url, { headersTimeout: 500, bodyTimeout: 500, throwOnError: true, signal: soon() }),
    ky: (url) => ky(url, { retry: 0, timeout: 500 }),
    superagent: (url) => superagent.get(url).timeout(500).retry(0),
  };
  for (const [name, get] of Object.entries(clients)) {
    if (name !== "undici") for (const [status, label] of Object.entries(STATUSES)) await expect(label, name, () => get(`${HTTP}/n/${status}/notes`));
    for (const [door, label] of Object.entries(BROKEN)) await expect(label, name, () => get(`http://${doors[door]}/notes`));
    await expect("own-fault", name, () => get(`https://${doors.tls}/notes`));
    await expect("own-fault", name, () => get(`http://${doors.html}/notes`));
    await expect("passing", name, () => get("http://notes.invalid/"));
  }
  await expect("own-fault", "axios", () => axios.get(`${HTTP}/loop/`));
  await expect("own-fault", "fetch", async () => (await fetch(`${HTTP}/s/html`)).json());
  await expect("own-fault", "fetch", async () => (await fetch(`${HTTP}/s/broken-json`)).json());
  await expect("own-fault", "got", () => got(`${HTTP}/s/html`).json());
}

async function amazon() {
  const given = { region: "eu-west-1", credentials: { accessKeyId: "AKIAX", secretAccessKey: "x" }, maxAttempts: 1,
    requestHandler: { requestTimeout: 500, connectionTimeout: 500, throwOnRequestTimeout: true } };
  const { S3Client, GetObjectCommand } = modules("@aws-sdk/client-s3");
  const { DynamoDBClient, GetItemCommand } = modules("@aws-sdk/client-dynamodb");
  const get = (endpoint) => new S3Client({ ...given, endpoint, forcePathStyle: true }).send(new GetObjectCommand({ Bucket: "notes", Key: "plan.md" }));
  for (const [name, label] of scenarios("s3")) await expect(label, "@aws-sdk/client-s3", () => get(`${HTTP}/s/${name}`));
  for (const [name, label] of scenarios("ddb")) {
    await expect(label, "@aws-sdk/client-dynamodb", () =>
      new DynamoDBClient({ ...given, endpoint: `${HTTP}/s/${name}` }).send(new GetItemCommand({ TableName: "notes", Key: { id: { S: "17" } } })));
  }
  for (const door of ["closed", "hang", "empty"]) await expect("passing", "@aws-sdk/client-s3", () => get(`http://${doors[door]}`));
  await expect("who-are-you", "@aws-sdk/client-s3", () => new S3Client({ region: "eu-west-1", endpoint: HTTP, forcePathStyle: true }).send(new GetObjectCommand({ Bucket: "notes", Key: "x" })));
}

async function models() {
  const OpenAI = modules("openai").default ?? modules("openai");
  const Anthropic = modules("@anthropic-ai/sdk").default ?? modules("@anthropic-ai/sdk");
  for (const [name, label] of scenarios("openai")) await expect(label, "openai", () => new OpenAI({ apiKey: "x", baseURL: `${HTTP}/s/${name}`, maxRetries: 0 }).models.list());
  for (const [name, label] of scenarios("anthropic")) await expect(label, "@anthropic-ai/sdk", () => new Anthropic({ apiKey: "x", baseURL: `${HTTP}/s/${name}`, maxRetries: 0 }).models.list());
  for (const door of ["closed", "hang"]) await expect("passing", "openai", () => new OpenAI({ apiKey: "x", baseURL: `http://${doors[door]}`, maxRetries: 0, timeout: 400 }).models.list());
  await expect("who-are-you", "openai", () => new OpenAI());
}

async function products() {
  const { Octokit } = await import(modules.resolve("@octokit/rest").replace(/index\.cjs$/, "index.js")).catch(() => import(path.join(path.dirname(modules.resolve("@octokit/request/package.json")), "../rest/dist-src/index.js")));
  for (const [name, label] of scenarios("github")) await expect(label, "@octokit/rest", () => new Octokit({ auth: "x", baseUrl: `${HTTP}/s/${name}`, log: { debug() {}, info() {}, warn() {}, error() {} } }).rest.repos.get({ owner: "ana", repo: "notes" }));
  await expect("passing", "@octokit/rest", () => new Octokit({ baseUrl: `http://${doors.closed}` }).rest.repos.get({ owner: "a", repo: "b" }));
  const { WebClient, LogLevel } = modules("@slack/web-api");
  for (const [name, label] of scenarios("slack")) {
    await expect(label, "@slack/web-api", () => new WebClient("x", { slackApiUrl: `${HTTP}/s/${name}/`, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true, logLevel: LogLevel.ERROR }).conversations.history({ channel: "C1" }));
  }
  const { Client } = modules("@notionhq/client");
  for (const [name, label] of scenarios("notion")) await expect(label, "@notionhq/client", () => new Client({ auth: "x", baseUrl: `${HTTP}/s/${name}`, logger() {}, retry: false }).pages.retrieve({ page_id: "1429989f" }));
  const Stripe = modules("stripe");
  const [host, port] = doors.http.split(":");
  const { Storage } = modules("@google-cloud/storage");
  for (const [name, label] of scenarios("gcs")) {
    await expect(label, "@google-cloud/storage", () => new Storage({ projectId: "p", apiEndpoint: `${HTTP}/s/${name}`, retryOptions: { autoRetry: false }, token: "x", authClient: undefined }).bucket("notes").file("plan.md").getMetadata());
  }
  const { BlobServiceClient, StorageSharedKeyCredential } = modules("@azure/storage-blob");
  for (const [name, label] of scenarios("azure")) {
    const key = new StorageSharedKeyCredential("acc", Buffer.from("x".repeat(32)).toString("base64"));
    await expect(label, "@azure/storage-blob", () => new BlobServiceClient(`${HTTP}/s/${name}`, key, { retryOptions: { maxTries: 1 } }).getContainerClient("notes").getBlobClient("plan.md").download());
  }
  const Docker = modules("dockerode");
  await expect("passing", "dockerode", () => new Docker({ host, port: doors.closed.split(":")[1] }).listContainers());
  await expect("absent", "dockerode", () => new Docker({ host, port, version: "s/docker-container" }).getContainer("web").inspect());
  await expect("passing", "dockerode", () => new Docker({ socketPath: "/var/run/none.sock" }).listContainers());
  const { Client: Elastic } = modules("@elastic/elasticsearch");
  for (const [name, label] of scenarios("elastic")) await expect(label, "@elastic/elasticsearch", () => new Elastic({ node: `${HTTP}/s/${name}`, maxRetries: 0 }).transport.request({ method: "GET", path: "/notes" }));
  await expect("passing", "@elastic/elasticsearch", () => new Elastic({ node: `http://${doors.closed}`, maxRetries: 0 }).info());
  if (Stripe) for (const [name, label] of scenarios("stripe")) await expect(label, "stripe", () => new Stripe("sk_test_x", { host, port: Number(port), protocol: "http", maxNetworkRetries: 0 }).rawRequest("GET", `/s/${name}/v1/customers/cus_x`));
}

async function databases() {
  const [host, closed] = doors.closed.split(":");
  const hang = doors.hang.split(":")[1];
  const { Client: Pg } = modules("pg");
  const mysql = modules("mysql2/promise");
  const Redis = modules("ioredis");
  const { MongoClient } = modules("mongodb");
  await expect("passing", "pg", () => new Pg({ host, port: Number(closed) }).connect());
  await expect("passing", "pg", () => new Pg({ host, port: Number(hang), connectionTimeoutMillis: 300 }).connect());
  await expect("passing", "pg", () => new Pg({ host, port: Number(doors.empty.split(":")[1]) }).connect());
  await expect("passing", "mysql2", () => mysql.createConnection({ host, port: Number(closed) }));
  await expect("passing", "mysql2", () => mysql.createConnection({ host, port: Number(hang), connectTimeout: 300 }));
  await expect("passing", "mongodb", () => new MongoClient(`mongodb://${host}:${closed}`, { serverSelectionTimeoutMS: 300 }).connect());
  const quiet = (client) => { client.on("error", () => {}); return client; };
  await expect("passing", "ioredis", () => quiet(new Redis(Number(closed), host, { maxRetriesPerRequest: 1 })).get("x"));
  await expect("passing", "ioredis", () => quiet(new Redis(Number(closed), host, { retryStrategy: null, lazyConnect: true })).connect());
  await expect("passing", "ioredis", () => quiet(new Redis(Number(hang), host, { commandTimeout: 200 })).get("x"));
}

async function system() {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "rows"));
  await fs.chmod(folder, 0o755);
  await expect("absent", "fs", () => fs.readFile(path.join(folder, "plan.md")));
  await expect("absent", "fs", () => fs.readdir(path.join(folder, "notes")));
  await expect("absent", "fs", () => fs.stat(path.join(folder, "17.json")));
  await expect("own-fault", "fs", () => fs.writeFile("/dev/full", "x".repeat(10000)));
  await expect("own-fault", "child_process", () => new Promise((_, refuse) => spawn("no-such-program").on("error", refuse)));
  await expect("passing", "net", () => new Promise((_, refuse) => net.connect(Number(doors.closed.split(":")[1]), "127.0.0.1").on("error", refuse)));
  await expect("passing", "dns", () => dns.lookup("notes.invalid"));
  await fs.writeFile(path.join(folder, "secret.md"), "x", { mode: 0o600 });
  const program = `require("fs").promises.readFile(${JSON.stringify(path.join(folder, "secret.md"))}).catch((error) => console.log(error.message))`;
  const child = spawn("setpriv", ["--reuid=nobody", "--clear-groups", process.execPath, "-e", program]);
  const said = await new Promise((resolve) => { let text = ""; child.stdout.on("data", (part) => { text += part; }); child.on("close", () => resolve(text.trim())); });
  rows.push(["not-allowed", "Node, fs", said]);
  const names = { ENOENT: "absent", EACCES: "not-allowed", EPERM: "not-allowed", ECONNRESET: "passing", ETIMEDOUT: "passing",
    EPIPE: "passing", EAGAIN: "passing", EBUSY: "passing", EHOSTUNREACH: "passing", ENETUNREACH: "passing", EAI_AGAIN: "passing",
    EINVAL: "bad-argument", ENOSPC: "own-fault", EMFILE: "passing", ENOMEM: "own-fault", EIO: "own-fault" };
  const util = await import("node:util");
  for (const [number, [name, words]] of util.getSystemErrorMap()) {
    if (!names[name]) continue;
    const call = name.startsWith("ECONN") || name === "EPIPE" ? "read" : "open";
    rows.push([names[name], "Node, util.getSystemErrorMap", turn++ % 2 ? `${call} ${name}` : `${name}: ${words}, ${call}`]);
    if (number % 3 === 0) rows.push([names[name], "Node, util.getSystemErrorMap", `Error: ${name}: ${words}`]);
  }
  for (const [label, program] of [["own-fault", "undefined.name"], ["own-fault", "null.read()"], ["own-fault", "nothere()"], ["own-fault", "({}).read()"],
    ["own-fault", "JSON.parse('<!DOCTYPE html>')"], ["own-fault", "JSON.parse('{')"], ["own-fault", "(function f() { f() })()"], ["own-fault", "const x = 1; x = 2"],
    ["own-fault", "x; let x"], ["own-fault", "new Map().get.call(1)"], ["bad-argument", "new URL('not a url')"], ["bad-argument", "new RegExp('[')"],
    ["bad-argument", "(1).toFixed(200)"], ["bad-argument", "new Date('soon').toISOString()"], ["bad-argument", "decodeURIComponent('%')"],
    ["bad-argument", "'x'.repeat(-1)"], ["bad-argument", "BigInt('abc')"], ["bad-argument", "Buffer.alloc(-1)"]]) {
    await expect(label, "Node", () => (0, eval)(program));
  }
  await expect("own-fault", "Node", () => import("no-such-module-of-ours").catch((error) => { throw new Error(error.message.replace(/ imported from .*/, " imported from /srv/app/server.mjs")); }));
  await expect("own-fault", "Node", () => modules("./lib/nothere.js"));
  await expect("bad-argument", "Node", () => fs.readFile(17.5));
  await expect("bad-argument", "Node", () => net.connect(99999999));
}

async function validation() {
  const { z } = modules("zod");
  const Ajv = modules("ajv").default ?? modules("ajv");
  const ask = z.object({ timeout: z.number().int().positive(), order: z.enum(["new", "old"]).optional() }).strict();
  for (const given of [{}, { timeout: -1 }, { timeout: "soon" }, { timeout: 1, order: "any" }, { timeout: 1, tiemout: 2 }]) {
    await expect("bad-argument", "zod", () => ask.parse(given));
  }
  const ajv = new Ajv();
  const check = ajv.compile({ type: "object", properties: { page: { type: "integer", minimum: 1 } }, required: ["page"], additionalProperties: false });
  for (const given of [{}, { page: 0 }, { page: "x" }, { page: 1, pag: 2 }]) {
    check(given);
    rows.push(["bad-argument", `Node, ajv ${versionOf("ajv")}`, ajv.errorsText(check.errors)]);
  }
  const jwt = modules("jsonwebtoken");
  await expect("who-are-you", "jsonwebtoken", () => jwt.verify(jwt.sign({ exp: 1 }, "k"), "k"));
  await expect("who-are-you", "jsonwebtoken", () => jwt.verify(jwt.sign({ a: 1 }, "k"), "z"));
  await expect("who-are-you", "jsonwebtoken", () => jwt.verify("x", "k"));
}

process.on("uncaughtException", (error) => console.log("beside:", error.message));
process.on("unhandledRejection", (error) => console.log("beside:", error?.message));
for (const part of [httpClients, amazon, models, products, databases, system, validation]) {
  try { await part(); } catch (error) { console.log(`${part.name} broke off: ${error.stack}`); }
}
// Written by Python, which knows what must not be kept.
const writer = spawn(process.env.PYTHON ?? "python3", ["-c",
  "import json, sys; sys.path.insert(0, sys.argv[1]); from rows import Rows; rows = Rows('node')\nfor row in json.load(sys.stdin): rows.add(*row)\nrows.write()", here],
  { stdio: ["pipe", "inherit", "inherit"] });
writer.stdin.end(JSON.stringify(rows));
await new Promise((resolve) => writer.on("close", resolve));
process.exit(0);
