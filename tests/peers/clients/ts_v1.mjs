// Drives a server with the TypeScript SDK of the first generation, @modelcontextprotocol/sdk.
// It knows the legacy era only.

import { adapt, headers, peer, run, updateQueue } from "./driver.mjs";

const { Client } = peer("@modelcontextprotocol/sdk/client/index.js");
const { SSEClientTransport } = peer("@modelcontextprotocol/sdk/client/sse.js");
const { StdioClientTransport } = peer("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = peer("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema } = peer(
  "@modelcontextprotocol/sdk/types.js",
);

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
  if (options.era === "modern") throw new Error("this client does not know the modern era");
  const client = new Client({ name: "ts_v1", version: "1.0.0" });
  const updates = updateQueue();
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updates.push(params.uri));
  const changes = updateQueue();
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => changes.push(true));
  const over = transport(options);
  // This generation has no accessor for the version, but tells the transport, except over stdio.
  let version = null;
  const negotiated = over.setProtocolVersion?.bind(over);
  over.setProtocolVersion = (value) => {
    version = value;
    negotiated?.(value);
  };
  await client.connect(over);
  return adapt(client, {
    protocolVersion: () => version,
    subscribe: (uri) => client.subscribeResource({ uri }),
    updates,
    changes,
    requestOptions: {},
  });
}

await run("ts_v1", connect);
