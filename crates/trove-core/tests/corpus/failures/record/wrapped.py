"""Records how MCP servers pass failures on: the texts of other rows, thrown by their handlers.

Python: FastMCP, a resource and a tool. TypeScript: the SDK's McpServer, through wrapped.mjs.
Each row keeps the number of its JSON-RPC error, and the group of the text that it wraps.
"""

import asyncio
import json
import os
import subprocess
from pathlib import Path

from fastmcp import Client, FastMCP
from fastmcp.exceptions import ResourceError

from rows import ROWS, Rows

# One text in this many is wrapped.
EVERY = 9
SOURCES = ["composed", "go", "java", "node", "python", "rust"]


def samples():
    rows = []
    for name in SOURCES:
        rows += [json.loads(line) for line in (ROWS / f"{name}.jsonl").read_text().splitlines()]
    return [row for at, row in enumerate(rows) if at % EVERY == 0]


async def over_fastmcp(rows, out):
    server = FastMCP("notes")
    told = {"text": "", "at": 0}

    @server.resource("notes://{id}")
    def note(id: str) -> str:
        if told["at"] % 2:
            raise ResourceError(told["text"])
        raise RuntimeError(told["text"])

    @server.tool
    def read_note() -> str:
        raise RuntimeError(told["text"])

    async with Client(server) as client:
        for at, row in enumerate(rows):
            told.update(text=row["said"], at=at)
            group = row.get("group", row["said"])
            try:
                if at % 3 == 0:
                    await client.call_tool("read_note", {})
                else:
                    await client.read_resource("notes://17")
            except Exception as error:  # noqa: BLE001
                code = getattr(getattr(error, "error", None), "code", -32603)
                if row["said"][:40] in str(error):
                    out.add(row["class"], "FastMCP 4", error, group=group, code=code, uri="notes://17")


def over_typescript(rows, out):
    here = Path(__file__).resolve().parent
    texts = json.dumps([row["said"] for row in rows])
    told = subprocess.run(["node", str(here / "wrapped.mjs")], input=texts, capture_output=True, text=True,
                          cwd=os.environ.get("NODE_FOLDER", "."))
    print(told.stderr[-1000:])
    for row, (code, said) in zip(rows, json.loads(told.stdout)):
        group = row.get("group", row["said"])
        out.add(row["class"], "MCP TypeScript SDK", said, group=group, code=code, uri="notes://17")


def as_json(rows, out):
    """Objects as servers write them by hand into their texts."""
    for at, row in enumerate(rows):
        forms = [lambda text: json.dumps({"error": text}), lambda text: json.dumps({"success": False, "message": text}),
                 lambda text: f"Error: {text}", lambda text: f"Failed to read resource: {text}"]
        said = forms[at % len(forms)](row["said"])
        out.add(row["class"], "by hand", said, group=row.get("group", row["said"]), composed=True)


if __name__ == "__main__":
    out = Rows("wrapped")
    every = samples()
    asyncio.run(over_fastmcp(every[0::3], out))
    over_typescript(every[1::3], out)
    as_json(every[2::3], out)
    out.write()
