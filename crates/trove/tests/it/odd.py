"""A server with one oddity, told by its first argument; the second is a file of what it was asked."""
import json
import sys
import time

MODE, LOG = sys.argv[1], open(sys.argv[2], "a")
MODERN = MODE == "ends-listening"
PAGES = 4
refusals = {"refuses-once": 1, "refuses-slowly": 10**6}.get(MODE, 0)


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def listen(asked, params):
    """Acknowledges, and ends what reports on nothing at once."""
    uris = params["notifications"].get("resourceSubscriptions", [])
    meta = {"io.modelcontextprotocol/subscriptionId": asked}
    told = {"notifications": {"resourceSubscriptions": uris} if uris else {}, "_meta": meta}
    send({"method": "notifications/subscriptions/acknowledged", "params": told})
    return None if uris else {"_meta": meta}


def subscribe():
    global refusals
    if MODE == "refuses-slowly":
        time.sleep(1)
    refusals -= 1
    return {"error": {"code": -32000, "message": "warming up"}} if refusals >= 0 else {"result": {}}


def answer(asked, method, params):
    if method == "server/discover" and MODERN:
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"resources": {"subscribe": True}}}
    if method == "initialize":
        able = {"resources": {"subscribe": True}, "logging": {}}
        return {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "odd", "version": "1"}}
    if method == "resources/list":
        page = params.get("cursor", 0)
        more = {"nextCursor": page + 1} if MODE == "counts-pages" and page + 1 < PAGES else {}
        return {"resources": [{"uri": f"odd://{page}", "name": "odd"}], **more}
    if method == "logging/setLevel":
        return {}
    if method == "resources/templates/list":
        return {"resourceTemplates": []}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "odd"}]}
    return None


if MODE == "comes-late":
    time.sleep(0.7)
for line in sys.stdin:
    message = json.loads(line)
    asked, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    LOG.write(f"{method} {json.dumps(params)}\n")
    LOG.flush()
    if asked is None:
        continue
    if method == "resources/subscribe":
        send({"id": asked, **subscribe()})
        continue
    listens = method == "subscriptions/listen"
    result = listen(asked, params) if listens else answer(asked, method, params)
    if result is not None:
        if MODERN:
            result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
        send({"id": asked, "result": result})
    elif not listens:
        send({"id": asked, "error": {"code": -32601, "message": "no such method"}})
