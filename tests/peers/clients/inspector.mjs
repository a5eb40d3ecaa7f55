// Drives a server with the inspector's command line: one process per request.
//
// Every request is a connection of its own, so a subscription cannot be watched,
// and a stdio server is started afresh for each.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { peersDir, run } from "./driver.mjs";

const CLI = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

function target(options, method) {
  if (options.stdio.length > 0) {
    // The whole environment goes along, save the empty variables, which it cannot take:
    // the inspector would otherwise keep most of it back.
    const variables = Object.entries(process.env).filter(([, value]) => value !== "");
    const environment = variables.flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    // A lone `--` keeps the server's own options from being taken for the inspector's.
    return [...method, ...environment, "--", ...options.stdio];
  }
  const auth = options.token ? ["--header", `Authorization: Bearer ${options.token}`] : [];
  const transport = options.sse ? ["--transport", "sse"] : ["--transport", "http"];
  return [options.sse ?? options.http, ...transport, ...method, ...auth];
}

function invoke(options, home, method) {
  const cli = join(peersDir(), "npm", "node_modules", CLI);
  const era = options.sse ? "legacy" : options.era;
  const common = ["--format", "json", "-q", "--protocol-era", era];
  const args = [cli, "--cli", ...target(options, [...common, ...method])];
  return new Promise((resolve, reject) => {
    // A home of its own: the inspector writes a catalogue there.
    const child = spawn(process.execPath, args, { env: { ...process.env, HOME: home }, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (err += chunk));
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(JSON.parse(out).result) : reject(envelope(code, err))));
  });
}

// The envelope names its own kinds of failure; the protocol's number is only in the prose.
function envelope(exit, err) {
  const line = err.trim().split("\n").at(-1) ?? "";
  const message = line.startsWith("{") ? JSON.parse(line).error.message : err || `inspector exited with ${exit}`;
  const code = /MCP error (-\d+)/.exec(message)?.[1];
  return Object.assign(new Error(message), { code: code === undefined ? null : Number(code) });
}

async function connect(options) {
  if (options.watch) throw new Error("the inspector's command line cannot watch a resource");
  const home = await mkdtemp(join(tmpdir(), "inspector-"));
  // It follows cursors itself, so there is never a next page.
  const list = (method, items) => async () => [(await invoke(options, home, ["--method", method]))[items], undefined];
  return {
    // The command line does not print which version it spoke.
    protocolVersion: () => null,
    listResources: list("resources/list", "resources"),
    listTemplates: list("resources/templates/list", "resourceTemplates"),
    listTools: list("tools/list", "tools"),
    read: async (uri) => (await invoke(options, home, ["--method", "resources/read", "--uri", uri])).contents,
    close: () => rm(home, { recursive: true, force: true }),
  };
}

await run("inspector", connect);
