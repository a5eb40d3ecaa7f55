"""An MCP server with the tools of one section of `tools.tsv`; every call is written down.

Arguments: the table, the section, the file to write calls to.
"""

import json
import os
import sys

TABLE, SECTION, LOG = sys.argv[1:4]
WORDS = {
    "owner": "The owner of the repository: a user or an organization.",
    "repo": "The name of the repository.",
    "project_id": "The id or the whole path of the project.",
    "page": "The page of results, from 1.",
    "limit": "The most results to give.",
}
HINTS = {
    "r": {"readOnlyHint": True},
    "w": {"readOnlyHint": False, "destructiveHint": False},
    "d": {"readOnlyHint": False, "destructiveHint": True},
}


def argument(name):
    plain = name.rstrip("!")
    whole = ("page", "limit", "replicas", "amount")
    kind = "integer" if plain.endswith("number") or plain in whole else "string"
    words = WORDS.get(plain, f"The {plain.replace('_', ' ')}.")
    return plain, {"type": kind, "description": words}


def tool(line):
    name, effect, description, arguments = line.rstrip("\n").split("\t")
    names = arguments.split()
    schema = {
        "type": "object",
        "properties": dict(argument(one) for one in names),
        "required": [one.rstrip("!") for one in names if one.endswith("!")],
        "additionalProperties": False,
    }
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": HINTS[effect],
    }


def tools():
    found, section = [], None
    with open(TABLE, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# "):
                section = line[2:].strip()
            elif section == SECTION:
                found.append(tool(line))
    # A test may want fewer of them, and other ones later.
    most = LOG + ".most"
    if os.path.exists(most):
        with open(most, encoding="utf-8") as file:
            return found[: int(file.read())]
    return found


def answer(method, params):
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": SECTION, "version": "1"}
        abilities = {"tools": {"listChanged": True}}
        return {"protocolVersion": version, "capabilities": abilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        with open(LOG, "a", encoding="utf-8") as file:
            file.write(json.dumps(params) + "\n")
        if params["name"] == "create_gist":
            say("notifications/tools/list_changed", {})
        text = f"{SECTION} did {params['name']}"
        return {"content": [{"type": "text", "text": text}], "isError": False}
    return {}


def say(method, params):
    print(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        known = ("initialize", "tools/list", "tools/call", "ping")
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] in known:
            reply["result"] = answer(message["method"], message.get("params") or {})
        else:
            reply["error"] = {"code": -32601, "message": "unknown method"}
        print(json.dumps(reply), flush=True)
