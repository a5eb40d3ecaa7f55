// Drives a server with the TypeScript client of the second generation, @modelcontextprotocol/client.

import { adapt, headers, MODERN, peer, run, updateQueue } from "./driver.mjs";

const { Client, SSEClientTransport, StreamableHTTPClientTransport } = peer("@modelcontextprotocol/client");
const { StdioClientTransport } = peer("@modelcontextprotocol/client/stdio");

function transport(options) {
  if (options.stdio.length > 0) {
    // The whole environment goes along: the client would otherwise keep most of it back.
    const [command, ...args] = options.stdio;
    return new StdioClientTransport({ command, args, env: { ...process.env }, stderr: "inherit" });
  }
  const requestInit = { headers: headers(options) };
  if (options.sse) return new SSEClientTransport(new URL(options.sse), { requestInit });
  return new StreamableHTTPClientTransport(new URL(options.http), { requestInit });
}

async function connect(options) {
  // The SSE transport predates the modern era.
  const era = options.sse ? "legacy" : options.era;
  const mode = era === "modern" ? { pin: MODERN } : era;
  const client = new Client({ name: "ts_v2", version: "1.0.0" }, { versionNegotiation: { mode } });
  const updates = updateQueue();
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => updates.push(params.uri));
  const changes = updateQueue();
  client.setNotificationHandler("notifications/resources/list_changed", () => changes.push(true));
  await client.connect(transport(options));
  const isModern = () => client.getProtocolEra() === "modern";
  return adapt(client, {
    protocolVersion: () => client.getNegotiatedProtocolVersion(),
    subscribe: (uri) =>
      isModern() ? client.listen({ resourceSubscriptions: [uri] }) : client.subscribeResource({ uri }),
    updates,
    changes,
    requestOptions: { cacheMode: "bypass" },
  });
}

await run("ts_v2", connect);
