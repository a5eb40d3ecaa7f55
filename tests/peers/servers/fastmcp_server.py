"""A fastmcp server with one resource of every kind a gateway must carry.

`fastmcp_server.py` speaks over stdio; `fastmcp_server.py --http HOST:PORT` serves
Streamable HTTP at /mcp. Contents are constant, so that two reads can be compared.
"""

from __future__ import annotations

import argparse
import json

from fastmcp import FastMCP
from fastmcp.resources import ResourceContent, ResourceResult
from mcp_types import ResourceLink

server = FastMCP("peer-fastmcp", version="1.0.0")

# Every byte once: whatever mangles text encodings on the way shows here.
EVERY_BYTE = bytes(range(256))


@server.resource("peer://text/plain", mime_type="text/plain", description="Text with more than ASCII in it.")
def plain() -> str:
    return "Grüße, 世界\n\ttabs and \"quotes\"\r\nno final newline"


@server.resource("peer://data/settings.json", mime_type="application/json", title="Settings")
def settings() -> str:
    return json.dumps({"z": 1, "a": [1.0, None, "ü"], "nested": {"big": 12345678901234567890}}, ensure_ascii=False)


@server.resource("peer://data/bytes.bin", mime_type="application/octet-stream")
def every_byte() -> bytes:
    return EVERY_BYTE


@server.resource("peer://text/empty", mime_type="text/plain")
def empty() -> str:
    return ""


@server.resource("peer://bundle/parts", mime_type="text/plain", description="One read, several parts.")
def parts() -> ResourceResult:
    return ResourceResult(
        contents=[
            ResourceContent("first", mime_type="text/plain"),
            ResourceContent(EVERY_BYTE[:16], mime_type="application/octet-stream"),
        ]
    )


@server.resource("peer://broken/always", mime_type="text/plain", description="Fails whenever it is read.")
def broken() -> str:
    raise ValueError("broken on purpose")


@server.resource("peer://items/{kind}/{name*}{?lang,limit}", mime_type="application/json")
def item(kind: str, name: str, lang: str = "en", limit: int = 10) -> str:
    return json.dumps({"kind": kind, "name": name, "lang": lang, "limit": limit}, ensure_ascii=False)


@server.resource("peer://greet/{who}", mime_type="text/plain")
def greet(who: str) -> str:
    return f"Hello, {who}!"


@server.tool
def link_to(uri: str) -> ResourceLink:
    """Answers with a link to a resource."""
    return ResourceLink(type="resource_link", uri=uri, name="linked", mimeType="text/plain")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", metavar="HOST:PORT")
    address = parser.parse_args().http
    if address is None:
        server.run(transport="stdio", show_banner=False)
        return
    host, port = address.rsplit(":", 1)
    server.run(transport="http", host=host, port=int(port), path="/mcp", show_banner=False, log_level="warning")


if __name__ == "__main__":
    main()
