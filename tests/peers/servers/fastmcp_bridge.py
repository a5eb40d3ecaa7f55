"""FastMCP's proxy with its tools for resources, over HTTP, in front of one stdio server.

Arguments: the port to listen on, then the command of the server.
"""

import sys

from fastmcp.server import create_proxy
from fastmcp.server.transforms import ResourcesAsTools

port, command, *arguments = sys.argv[1:]
proxy = create_proxy({"mcpServers": {"up": {"command": command, "args": arguments}}})
proxy.add_transform(ResourcesAsTools(proxy))
proxy.run(
    transport="http",
    host="127.0.0.1",
    port=int(port),
    show_banner=False,
    log_level="ERROR",
)
