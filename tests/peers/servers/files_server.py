"""A fastmcp server with the files of a folder: `files_server.py SCHEME FOLDER`, over stdio.

Each file is a resource `SCHEME://path`, named after its path.
"""

from __future__ import annotations

import mimetypes
import sys
from pathlib import Path

from fastmcp import FastMCP

scheme, folder = sys.argv[1], Path(sys.argv[2])
server = FastMCP(f"files-{scheme}", version="1.0.0")


def offer(path: Path) -> None:
    name = path.relative_to(folder).as_posix()
    kind = mimetypes.guess_type(name)[0] or "text/plain"

    @server.resource(f"{scheme}://{name}", name=name, mime_type=kind)
    def read() -> str:
        return path.read_text(encoding="utf-8")


for file in sorted(folder.rglob("*")):
    if file.is_file():
        offer(file)

server.run(show_banner=False)
