"""Drives a server with the Python SDK, `mcp`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import mcp_types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared._httpx_utils import create_mcp_http_client

import driver


class Session:
    def __init__(self, client: Client, updates: asyncio.Queue[str], changes: asyncio.Queue[bool]) -> None:
        self.client = client
        self.updates = updates
        self.changes = changes

    async def subscribe(self, uri: str) -> None:
        await self.client.session.subscribe_resource(uri)

    async def updated(self) -> str:
        return await self.updates.get()

    async def list_changed(self) -> None:
        await self.changes.get()

    def forget(self) -> None:
        driver.drain(self.updates, self.changes)

    def protocol_version(self) -> str:
        return self.client.protocol_version

    async def list_resources(self, cursor: str | None) -> tuple[list[dict], str | None]:
        page = await self.client.list_resources(cursor=cursor)
        return [driver.plain(item) for item in page.resources], page.next_cursor

    async def list_templates(self, cursor: str | None) -> tuple[list[dict], str | None]:
        page = await self.client.list_resource_templates(cursor=cursor)
        return [driver.plain(item) for item in page.resource_templates], page.next_cursor

    async def list_tools(self, cursor: str | None) -> tuple[list[dict], str | None]:
        page = await self.client.list_tools(cursor=cursor)
        return [driver.plain(item) for item in page.tools], page.next_cursor

    async def read(self, uri: str) -> list[dict]:
        return [driver.plain(part) for part in (await self.client.read_resource(uri)).contents]

    async def call(self, tool: str, arguments: dict[str, Any]) -> None:
        await self.client.call_tool(tool, arguments)

    async def watch(self, uri: str, trigger: Callable[[], Awaitable[None]], seconds: float) -> str:
        if self.client.protocol_version != driver.MODERN:
            await self.client.session.subscribe_resource(uri)
            await trigger()
            return await asyncio.wait_for(self.updates.get(), seconds)
        async with self.client.listen(resource_subscriptions=[uri]) as events:
            await trigger()
            async with asyncio.timeout(seconds):
                async for event in events:
                    if isinstance(event, ResourceUpdated):
                        return event.uri
        raise RuntimeError("the subscription ended without an update")


@asynccontextmanager
async def connect(options: driver.Options) -> AsyncIterator[Session]:
    updates: asyncio.Queue[str] = asyncio.Queue()
    changes: asyncio.Queue[bool] = asyncio.Queue()

    async def on_message(message: Any) -> None:
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            updates.put_nowait(str(message.params.uri))
        if isinstance(message, mcp_types.ResourceListChangedNotification):
            changes.put_nowait(True)

    if options.stdio:
        # The whole environment goes along: the client would otherwise keep most of it back.
        command, *args = options.stdio
        server: Any = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    elif options.sse:
        server = sse_client(options.sse, headers=options.headers)
    else:
        server = streamable_http_client(options.http, http_client=create_mcp_http_client(headers=options.headers))
    # The SSE transport predates the modern era and offers no way to ask for it.
    mode = "legacy" if options.sse else options.mode
    roots = None
    if options.root:
        async def roots(_context: Any) -> mcp_types.ListRootsResult:
            return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=options.root)])

    async with Client(
        server, mode=mode, cache=None, message_handler=on_message, list_roots_callback=roots
    ) as client:
        yield Session(client, updates, changes)


if __name__ == "__main__":
    sys.exit(driver.run("py_mcp", connect))
