// Reads texts as a JSON list, throws each in a handler of the SDK's McpServer, and prints what its
// client was told: a list of [code, message].

import { createRequire } from "node:module";
import path from "node:path";

const modules = createRequire(path.join(process.cwd(), "x.js"));
const { McpServer, ResourceTemplate } = modules("@modelcontextprotocol/sdk/server/mcp.js");
const { Client } = modules("@modelcontextprotocol/sdk/client/index.js");
const { InMemoryTransport } = modules("@modelcontextprotocol/sdk/inMemory.js");

let text = "";
for await (const part of process.stdin) text += part;
const texts = JSON.parse(text);
const server = new McpServer({ name: "notes", version: "1" });
let said = "";
server.resource("note", new ResourceTemplate("notes://{id}", { list: undefined }), async () => { throw new Error(said); });
server.tool("read_note", async () => { throw new Error(said); });
const client = new Client({ name: "recorder", version: "1" });
const [ours, theirs] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(theirs), client.connect(ours)]);
const told = [];
for (const [at, each] of texts.entries()) {
  said = each;
  try {
    if (at % 3 === 0) told.push([-32603, (await client.callTool({ name: "read_note" })).content[0].text]);
    else await client.readResource({ uri: "notes://17" });
  } catch (error) {
    told.push([error.code ?? -32603, error.message]);
  }
}
console.log(JSON.stringify(told));
process.exit(0);
