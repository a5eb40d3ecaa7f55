"""A server with one oddity, told by its first argument; the second is a file of what it was asked."""
import json
import os
import sys
import time

MODE, LOG = sys.argv[1], open(sys.argv[2], "a")
MODERN = MODE in ("ends-listening", "listens-badly", "one-stream", "one-place", "never-listens")
PAGES = 4 if MODE == "counts-pages" else 2
CHANGING = ("comes-late-and-mute", "says-nothing", "leaves-one-unanswered")
MUTE = MODE == "comes-late-and-mute"
LONG = 10**6
TOKEN = os.environ.get("API_TOKEN", "none")
calls = reads = listens = 0
stream = None
refusals = {"refuses-once": 1, "refuses-slowly": 10**6}.get(MODE, 0)


def send(message):
    """Sends a message; a member `again:NAME` becomes a second one of that name."""
    text = json.dumps({"jsonrpc": "2.0", **message})
    sys.stdout.write(text.replace('"again:', '"') + "\n")
    sys.stdout.flush()


def listen(asked, params):
    """Acknowledges, reports a change of each resource, and ends what reports on nothing at once."""
    uris = params["notifications"].get("resourceSubscriptions", [])
    if MODE == "listens-badly":
        return listen_badly(asked, uris)
    if MODE == "never-listens":
        return {"error": {"code": -32601, "message": "no such method"}}
    if MODE == "one-place" and stream is not None:
        return {"error": {"code": -32000, "message": "one at a time"}}
    if MODE in ("one-stream", "one-place"):
        return replace_stream(asked, uris)
    meta = {"io.modelcontextprotocol/subscriptionId": asked}
    told = {"notifications": {"resourceSubscriptions": uris} if uris else {}, "_meta": meta}
    send({"method": "notifications/subscriptions/acknowledged", "params": told})
    for uri in uris:
        send({"method": "notifications/resources/updated", "params": {"uri": uri, "_meta": meta}})
    return None if uris else {"_meta": meta}


def listen_badly(asked, uris):
    """Ends the first stream, refuses the second, forgets in the third what it is for; says nothing."""
    global listens
    listens += len(uris)
    meta = {"io.modelcontextprotocol/subscriptionId": asked}
    if uris and listens == 2:
        return {"error": {"code": -32000, "message": "not now"}}
    told = {"notifications": {"resourceSubscriptions": uris if listens != 3 else []}, "_meta": meta}
    send({"method": "notifications/subscriptions/acknowledged", "params": told})
    return {"_meta": meta} if uris and listens == 1 else None


def replace_stream(asked, uris):
    """Ends the stream before, begins the new one later; says nothing."""
    global stream
    if stream is not None:
        send({"id": stream, "result": {"resultType": "complete", "_meta": {}}})
        time.sleep(0.2)
    stream = asked
    meta = {"io.modelcontextprotocol/subscriptionId": asked}
    told = {"notifications": {"resourceSubscriptions": uris}, "_meta": meta}
    send({"method": "notifications/subscriptions/acknowledged", "params": told})


def subscribe():
    global refusals
    if MODE == "refuses-slowly":
        time.sleep(1)
    refusals -= 1
    return {"error": {"code": -32000, "message": "warming up"}} if refusals >= 0 else {"result": {}}


def answer(asked, method, params):
    global calls, reads
    if method == "server/discover" and MODERN:
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"resources": {"subscribe": True}}}
    if method == "initialize":
        announces = {"listChanged": True} if MODE == "breaks-off" else {}
        able = {"resources": {"subscribe": not MUTE, **announces}, "logging": {}}
        able.update({"tools": {}} if MODE in ("grows", "tells-secrets") else {})
        name = "n" * LONG if MODE == "talks-long" else "odd"
        return {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": name, "version": "1"}}
    if method == "resources/list":
        page = params.get("cursor", 0)
        more = {"nextCursor": page + 1} if page + 1 < PAGES else {}
        if MODE == "breaks-off":
            if page == 1 and not os.path.exists("whole"):
                return None
        if MODE == "tells-secrets":
            told = {"name": f"odd {TOKEN}", "description": f"by {TOKEN}"}
            return {"resources": [{"uri": f"odd://{n}", **told} for n in ("0", TOKEN)]}
        if MODE == "says-twice":
            return {"resources": [{"uri": "odd://0", "name": "odd", "again:uri": "guide://help"}]}
        if MODE == "grows":
            return {"resources": [{"uri": f"odd://{n}", "name": "odd"} for n in range(1 + calls)]}
        return {"resources": [{"uri": f"odd://{page}", "name": "odd"}], **more}
    if method == "tools/list":
        by = {"$defs": {"n": {"type": "integer"}}, "properties": {"by": {"$ref": "#/$defs/n"}}}
        return {"tools": [{"name": "grow", "description": f"by {TOKEN}", "inputSchema": {"type": "object", **by}}]}
    if method == "tools/call":
        calls += 1
        if MODE == "tells-secrets":
            told = {"level": "error", "logger": TOKEN, "data": {TOKEN: f"by {TOKEN}"}}
            send({"method": "notifications/message", "params": told})
            return {"isError": True, "content": [{"type": "text", "text": f"failed by {TOKEN}"}]}
        return {"content": []}
    if method == "logging/setLevel":
        return {}
    if method == "resources/templates/list":
        return {"resourceTemplates": []}
    if method == "resources/read":
        reads += 1
        if MODE == "breaks-off":
            send({"method": "notifications/resources/list_changed"})
        if MODE == "says-twice":
            return {"contents": [{"uri": params["uri"], "text": "harmless", "again:text": "the guide"}]}
        if MODE == "talks-long":
            # However much of it is shown, somewhere the cut halves a token.
            message = (TOKEN + " ") * (LONG // 10)
            return {"error": {"code": -32000, "message": message, "data": "z" * LONG}}
        text = f"odd {reads}" if MODE in CHANGING else "odd"
        return {"contents": [{"uri": params["uri"], "text": text}]}
    return None


if MODE.startswith("comes-late"):
    time.sleep(0.7)
for line in sys.stdin:
    message = json.loads(line)
    asked, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    LOG.write(f"{method} {json.dumps(params)}\n")
    LOG.flush()
    if method == "notifications/cancelled" and params.get("requestId") == stream:
        stream = None
    if asked is None or MODE == "leaves-one-unanswered" and params.get("uri") == "odd://0":
        continue
    if method == "resources/subscribe":
        send({"id": asked, **subscribe()})
        if MODE == "leaves-one-unanswered":
            time.sleep(0.3)
            send({"method": "notifications/resources/updated", "params": {"uri": params["uri"]}})
        continue
    is_stream = method == "subscriptions/listen"
    result = listen(asked, params) if is_stream else answer(asked, method, params)
    if result and "error" in result:
        send({"id": asked, **result})
    elif result is not None:
        if MODERN:
            result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
        send({"id": asked, "result": result})
    elif not is_stream:
        send({"id": asked, "error": {"code": -32601, "message": "no such method"}})
