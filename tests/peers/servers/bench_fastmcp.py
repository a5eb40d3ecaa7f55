"""A fastmcp server with so many texts of 1 KiB, to measure with.

`bench_fastmcp.py COUNT` speaks over stdio; with `--http HOST:PORT` it serves Streamable
HTTP at /mcp.
"""

from __future__ import annotations

import argparse

from fastmcp import FastMCP
from fastmcp.resources import TextResource

# The first three places of a list to measure with are those of larger resources.
LARGER = ["128k", "1m", "16m"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--http", metavar="HOST:PORT")
    options = parser.parse_args()
    server = FastMCP("bench-fastmcp", version="1.0.0")
    for place in range(options.count):
        size = LARGER[place] if place < len(LARGER) else "1k"
        uri = f"bench://{size}/{place:07}"
        server.add_resource(TextResource(uri=uri, name=uri, mime_type="text/plain", text="trove " * 171))
    if options.http is None:
        server.run(transport="stdio", show_banner=False)
        return
    host, port = options.http.rsplit(":", 1)
    server.run(transport="http", host=host, port=int(port), path="/mcp", show_banner=False, log_level="error")


if __name__ == "__main__":
    main()
