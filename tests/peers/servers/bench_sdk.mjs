// A server on the TypeScript SDK with so many texts of 1 KiB, to measure with.
//
// `bench_sdk.mjs PACKAGES COUNT` speaks over stdio; with `--http HOST:PORT` it serves
// Streamable HTTP at /mcp. PACKAGES is the folder whose node_modules has the SDK.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const [packages, count, , address] = process.argv.slice(2);
const require = createRequire(join(packages, "package.json"));
const sdk = (path) => require(`@modelcontextprotocol/sdk/${path}`);
const { Server } = sdk("server/index.js");
const { ListResourcesRequestSchema, ReadResourceRequestSchema } = sdk("types.js");

// The first three places of a list to measure with are those of larger resources.
const LARGER = ["128k", "1m", "16m"];
const uris = Array.from({ length: Number(count) }, (_, place) => {
  return `bench://${LARGER[place] ?? "1k"}/${String(place).padStart(7, "0")}`;
});
const resources = uris.map((uri) => ({ uri, name: uri, mimeType: "text/plain" }));
const text = "trove ".repeat(171);

function server() {
  const made = new Server({ name: "bench-sdk", version: "1.0.0" }, { capabilities: { resources: {} } });
  made.setRequestHandler(ListResourcesRequestSchema, () => ({ resources }));
  made.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => ({
    contents: [{ uri, mimeType: "text/plain", text }],
  }));
  return made;
}

if (address === undefined) {
  const { StdioServerTransport } = sdk("server/stdio.js");
  await server().connect(new StdioServerTransport());
} else {
  const { StreamableHTTPServerTransport } = sdk("server/streamableHttp.js");
  const sessions = new Map();
  const open = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await server().connect(transport);
    return transport;
  };
  const [host, port] = address.split(":");
  createServer(async (request, response) => {
    const transport = sessions.get(request.headers["mcp-session-id"]) ?? (await open());
    await transport.handleRequest(request, response);
  }).listen(Number(port), host);
}
