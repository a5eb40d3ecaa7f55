"""An MCP server with tools only; every call of a tool is written down.

Arguments: the file to write to; the file that holds its annotations, which are read anew for
each list. Where that says so, the tools say nothing of what they do, or say otherwise later.
"""

import json
import sys

LOG, MOOD = sys.argv[1], sys.argv[2]
ACCOUNTS = [
    {"id": f"a{n}", "title": f"Account {n}", "city": "Bergen", "updated_at": "2026-11-01T10:00:00Z"}
    for n in range(1, 8)
]


def mood():
    with open(MOOD) as file:
        return file.read().strip()


def tool(name, arguments, reads):
    hints = {"readOnlyHint": reads}
    if mood() == "silent":
        hints = {}
    if mood() == "changed" and name == "get_account":
        hints = {"readOnlyHint": False}
    properties = {key: {"type": kind} for key, kind in arguments.items()}
    required = [key for key in arguments if key not in ("cursor", "limit")]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": name, "inputSchema": schema, "annotations": hints}


def tools():
    return [
        tool("list_accounts", {"limit": "integer", "cursor": "string"}, True),
        tool("get_account", {"id": "string"}, True),
        tool("find_accounts", {"q": "string", "limit": "integer"}, True),
        tool("delete_account", {"id": "string"}, False),
        tool("create_account", {"title": "string"}, False),
    ]


def called(name, arguments):
    with open(LOG, "a") as file:
        file.write(json.dumps({"tool": name, "arguments": arguments}) + "\n")
    if name == "list_accounts":
        start = int(arguments.get("cursor") or 0)
        limit = arguments.get("limit", len(ACCOUNTS))
        page = ACCOUNTS[start : start + limit]
        more = start + limit
        found = {"accounts": page, "next": str(more) if more < len(ACCOUNTS) else None}
        return said(json.dumps(found))
    if name == "get_account":
        one = [account for account in ACCOUNTS if account["id"] == arguments["id"]]
        if not one:
            return {**said(f"account not found: {arguments['id']}"), "isError": True}
        return {"content": [], "structuredContent": one[0]}
    if name == "find_accounts":
        if mood() == "deaf":
            return {**said("Error: rate limit exceeded"), "isError": True}
        hit = {"id": "far1", "title": "Zeppelin hangar", "text": "where " + arguments["q"] + " is"}
        return said(json.dumps({"hits": [hit]}))
    return said("done")


def said(text):
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        continue
    if method == "initialize":
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "recorder", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": tools()}
    elif method == "tools/call":
        result = called(params["name"], params.get("arguments", {}))
    else:
        error = {"code": -32601, "message": "method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
