"""What the Python drivers share: the command line, the survey and the watch.

A driver hands in an `Adapter`; everything a test compares is built here, so that two
drivers can differ only in the client library they use.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Protocol

MODERN = "2026-07-28"
# A server that hands out cursors for ever must fail the run, not hang it.
MAX_PAGES = 1000
WATCH_SECONDS = 10.0
LISTED_SECONDS = 30.0
# A client that lost its stream waits a while before it comes back.
PAUSE_SECONDS = 60.0


# Asks for one page of a list: the items, and the cursor of the next page.
Page = Callable[[str | None], Awaitable[tuple[list[dict], str | None]]]


@dataclass
class Options:
    stdio: list[str] = field(default_factory=list)
    http: str | None = None
    sse: str | None = None
    era: str = "auto"
    token: str | None = None
    reads: list[str] = field(default_factory=list)
    root: str | None = None
    until_listed: str | None = None
    until_tool: str | None = None
    watch: str | None = None
    trigger: str | None = None
    trigger_args: dict[str, Any] = field(default_factory=dict)
    pause: str | None = None

    @property
    def mode(self) -> str:
        """The era in the words of both Python clients: a version pins the modern one."""
        return MODERN if self.era == "modern" else self.era

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


class Adapter(Protocol):
    """One connected client. Pages and contents come back as plain JSON values."""

    def protocol_version(self) -> str: ...
    async def list_resources(self, cursor: str | None) -> tuple[list[dict], str | None]: ...
    async def list_templates(self, cursor: str | None) -> tuple[list[dict], str | None]: ...
    async def list_tools(self, cursor: str | None) -> tuple[list[dict], str | None]: ...
    async def read(self, uri: str) -> list[dict]: ...
    async def watch(self, uri: str, trigger: Callable[[], Awaitable[None]], seconds: float) -> str: ...
    async def call(self, tool: str, arguments: dict[str, Any]) -> None: ...
    # In the legacy era, for a pause.
    async def subscribe(self, uri: str) -> None: ...
    async def updated(self) -> str: ...
    async def list_changed(self) -> None: ...
    def forget(self) -> None: ...


def parse(argv: list[str]) -> Options:
    # Everything after --stdio belongs to the server, options included.
    stdio: list[str] = []
    if "--stdio" in argv:
        at = argv.index("--stdio")
        argv, stdio = argv[:at], argv[at + 1 :]
    parser = argparse.ArgumentParser()
    parser.add_argument("--http")
    parser.add_argument("--sse")
    parser.add_argument("--era", choices=["legacy", "modern", "auto"], default="auto")
    parser.add_argument("--token")
    parser.add_argument("--read-template", action="append", default=[], metavar="URI")
    # Only a client that can be asked for its roots takes it.
    parser.add_argument("--root", metavar="URI")
    parser.add_argument("--until-listed", metavar="URI")
    parser.add_argument("--until-tool", metavar="NAME")
    parser.add_argument("--watch", metavar="URI")
    parser.add_argument("--trigger", nargs="+", metavar=("TOOL", "ARGS-JSON"))
    parser.add_argument("--pause", metavar="FILE")
    given = parser.parse_args(argv)
    if sum(map(bool, (stdio, given.http, given.sse))) != 1:
        parser.error("exactly one of --stdio, --http and --sse is needed")
    if bool(given.watch) != bool(given.trigger):
        parser.error("--watch and --trigger go together")
    trigger = given.trigger or []
    return Options(
        stdio=stdio,
        http=given.http,
        sse=given.sse,
        era=given.era,
        token=given.token,
        reads=given.read_template,
        root=given.root,
        until_listed=given.until_listed,
        until_tool=given.until_tool,
        watch=given.watch,
        trigger=trigger[0] if trigger else None,
        trigger_args=json.loads(trigger[1]) if len(trigger) > 1 else {},
        pause=given.pause,
    )


async def every_page(page: Page) -> list[dict]:
    items: list[dict] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        found, cursor = await page(cursor)
        items.extend(found)
        if cursor is None:
            return items
    raise RuntimeError(f"still a next cursor after {MAX_PAGES} pages")


async def wait_for_upstreams(adapter: Adapter, options: Options) -> None:
    """A gateway answers before its upstreams have; poll until what is named has arrived."""
    if options.until_listed:
        await wait_until(adapter.list_resources, "uri", options.until_listed)
    if options.until_tool:
        await wait_until(adapter.list_tools, "name", options.until_tool)


async def wait_until(page: Page, key: str, value: str) -> None:
    deadline = asyncio.get_running_loop().time() + LISTED_SECONDS
    while not any(item[key] == value for item in await absent_is_empty(page)):
        if asyncio.get_running_loop().time() > deadline:
            raise RuntimeError(f"{value} was not listed within {LISTED_SECONDS} s")
        await asyncio.sleep(0.1)


async def survey(name: str, adapter: Adapter, options: Options) -> dict[str, Any]:
    await wait_for_upstreams(adapter, options)
    resources = await absent_is_empty(adapter.list_resources)
    templates = await absent_is_empty(adapter.list_templates)
    reads: dict[str, Any] = {}
    for uri in [item["uri"] for item in resources] + options.reads:
        try:
            reads[uri] = {"contents": await adapter.read(uri)}
        except Exception as refused:  # Whatever the client raises is the result under test.
            reads[uri] = {"error": error_of(refused)}
    return {
        "client": name,
        "protocolVersion": adapter.protocol_version(),
        "resources": resources,
        "templates": templates,
        "reads": reads,
    }


async def absent_is_empty(page: Page) -> list[dict]:
    """Servers without resources refuse the method; to a survey that is the same as none."""
    try:
        return await every_page(page)
    except Exception as refused:
        if error_of(refused)["code"] == -32601:
            return []
        raise


def error_of(refused: BaseException) -> dict[str, Any]:
    error = getattr(refused, "error", None)
    if error is None:
        return {"code": None, "message": f"{type(refused).__name__}: {refused}"}
    return {"code": error.code, "message": error.message}


async def watch(name: str, adapter: Adapter, options: Options) -> dict[str, Any]:
    assert options.watch and options.trigger
    await wait_for_upstreams(adapter, options)

    async def trigger() -> None:
        await adapter.call(options.trigger, options.trigger_args)

    updated = await adapter.watch(options.watch, trigger, WATCH_SECONDS)
    return {"client": name, "protocolVersion": adapter.protocol_version(), "updated": updated}


async def go_on(name: str, adapter: Adapter, options: Options) -> dict[str, Any]:
    """Lists a page, lets the test start the server again, and goes on in the same session."""
    assert options.watch and options.trigger and options.pause
    await wait_for_upstreams(adapter, options)
    await adapter.subscribe(options.watch)
    first, cursor = await adapter.list_resources(None)
    # Only what is heard from here on tells of the restart.
    adapter.forget()
    await pause(options.pause)
    second, _ = await adapter.list_resources(cursor)
    async with asyncio.timeout(PAUSE_SECONDS):
        await adapter.list_changed()
        # Whoever comes back is told of each resource it watches; the next update is a real one.
        await adapter.updated()
        await adapter.call(options.trigger, options.trigger_args)
        updated = await adapter.updated()
    return {
        "client": name,
        "first": len(first),
        "second": len(second) > 0,
        "listChanged": True,
        "updated": updated,
    }


def drain(*queues: asyncio.Queue[Any]) -> None:
    for queue in queues:
        while not queue.empty():
            queue.get_nowait()


async def pause(file: str) -> None:
    Path(f"{file}.begun").touch()
    async with asyncio.timeout(PAUSE_SECONDS):
        while not Path(f"{file}.over").exists():
            await asyncio.sleep(0.02)


def run(name: str, connect: Callable[[Options], Any]) -> None:
    """Connects with `connect(options)`, an async context manager, and prints one JSON object."""
    options = parse(sys.argv[1:])

    async def main() -> dict[str, Any]:
        async with connect(options) as adapter:
            if options.pause:
                return await go_on(name, adapter, options)
            return await (watch if options.watch else survey)(name, adapter, options)

    print(json.dumps(asyncio.run(main()), sort_keys=True))


def plain(model: Any) -> dict[str, Any]:
    """A model as the JSON it was read from: fields the server did not send stay away."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)
