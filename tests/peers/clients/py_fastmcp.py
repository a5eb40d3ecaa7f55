"""Drives a server with the `fastmcp` client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import mcp_types
from fastmcp import Client
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from mcp.client.subscriptions import ResourceUpdated, listen

import driver


class Updates(MessageHandler):
    def __init__(self) -> None:
        self.queue: asyncio.Queue[str] = asyncio.Queue()
        self.changes: asyncio.Queue[bool] = asyncio.Queue()

    async def on_resource_updated(self, message: mcp_types.ResourceUpdatedNotification) -> None:
        self.queue.put_nowait(str(message.params.uri))

    async def on_resource_list_changed(self, message: mcp_types.ResourceListChangedNotification) -> None:
        self.changes.put_nowait(True)


class Session:
    def __init__(self, client: Client, updates: Updates) -> None:
        self.client = client
        self.updates = updates

    async def subscribe(self, uri: str) -> None:
        await self.client.session.subscribe_resource(uri)

    async def updated(self) -> str:
        return await self.updates.queue.get()

    async def list_changed(self) -> None:
        await self.updates.changes.get()

    def forget(self) -> None:
        driver.drain(self.updates.queue, self.updates.changes)

    def protocol_version(self) -> str:
        return self.client.protocol_version or "unknown"

    async def list_resources(self, cursor: str | None) -> tuple[list[dict], str | None]:
        page = await self.client.list_resources_mcp(cursor=cursor, cache_mode="bypass")
        return [driver.plain(item) for item in page.resources], page.next_cursor

    async def list_templates(self, cursor: str | None) -> tuple[list[dict], str | None]:
        page = await self.client.list_resource_templates_mcp(cursor=cursor, cache_mode="bypass")
        return [driver.plain(item) for item in page.resource_templates], page.next_cursor

    async def list_tools(self, cursor: str | None) -> tuple[list[dict], str | None]:
        page = await self.client.list_tools_mcp(cursor=cursor, cache_mode="bypass")
        return [driver.plain(item) for item in page.tools], page.next_cursor

    async def read(self, uri: str) -> list[dict]:
        return [driver.plain(part) for part in (await self.client.read_resource_mcp(uri)).contents]

    async def call(self, tool: str, arguments: dict[str, Any]) -> None:
        await self.client.call_tool_mcp(tool, arguments)

    async def watch(self, uri: str, trigger: Callable[[], Awaitable[None]], seconds: float) -> str:
        # fastmcp wraps no subscription of either era, but exposes the session that has both.
        if self.client.protocol_version != driver.MODERN:
            await self.client.session.subscribe_resource(uri)
            await trigger()
            return await asyncio.wait_for(self.updates.queue.get(), seconds)
        async with listen(self.client.session, resource_subscriptions=[uri]) as events:
            await trigger()
            async with asyncio.timeout(seconds):
                async for event in events:
                    if isinstance(event, ResourceUpdated):
                        return event.uri
        raise RuntimeError("the subscription ended without an update")


@asynccontextmanager
async def connect(options: driver.Options) -> AsyncIterator[Session]:
    if options.stdio:
        command, *args = options.stdio
        # Without keep_alive=False the server outlives the client, and this process with it.
        transport: Any = StdioTransport(command, args, env=dict(os.environ), keep_alive=False)
    elif options.sse:
        transport = SSETransport(options.sse, headers=options.headers)
    else:
        transport = StreamableHttpTransport(options.http, headers=options.headers)
    mode = "legacy" if options.sse else options.mode
    updates = Updates()
    async with Client(transport, mode=mode, message_handler=updates) as client:
        yield Session(client, updates)


if __name__ == "__main__":
    sys.exit(driver.run("py_fastmcp", connect))
