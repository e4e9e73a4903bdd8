"""A line between one process and the API server, which sees each write before and after it.

Plain HTTP on the side of the process, TLS on the server's: only so can the line know what is asked.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from conformance.every_step.trap import KillMoment, SeenStep, Trap
from tests.message_lengths import HEAD_END, body_bytes, missing_bytes
from tests.servers import Endpoint

API_SERVER = "apiserver"
READING = ("GET", "HEAD")
RECORD = re.compile(rb"plimsoll-(group|intent|rollback)-")
NO_STEPS = frozenset({"events", "selfsubjectaccessreviews", "leases"})
"""Nothing depends on events. Of leases only records count, not those of elections."""


class ApiLine:
    def __init__(self, caller: str, endpoint: Endpoint, trap: Trap) -> None:
        self._caller = caller
        self._endpoint = endpoint
        self._trap = trap
        self._context = endpoint.context()
        self._port = 0

    def write_kubeconfig(self, path: Path) -> None:
        """For a process that is to take this line."""
        document = yaml.safe_load(self._endpoint.kubeconfig.read_text())
        document["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self._port}"}
        path.write_text(yaml.safe_dump(document))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(
                self._endpoint.host, self._endpoint.port, ssl=self._context
            )
        except OSError:
            writer.transport.abort()
            return
        asked = _Asked()
        pumps = {
            asyncio.create_task(self._forward_requests(reader, back, asked)),
            asyncio.create_task(self._forward_answers(there, writer, asked)),
        }
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            writer.transport.abort()
            back.transport.abort()

    async def _forward_requests(
        self, reader: asyncio.StreamReader, back: asyncio.StreamWriter, asked: "_Asked"
    ) -> None:
        """Until the connection ends, or the process is ended."""
        while True:
            head = await reader.readuntil(HEAD_END)
            body = await reader.readexactly(body_bytes(head))
            what = step_of(head, body)
            step = SeenStep(self._caller, API_SERVER, what)
            fate = self._trap.fate(step) if what else None
            if fate is KillMoment.BEFORE:
                self._trap.spring(step)
                return
            asked.fatal = step if fate else None
            back.write(head + body)
            await back.drain()

    async def _forward_answers(
        self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: "_Asked"
    ) -> None:
        while data := await there.read(1 << 16):
            if asked.fatal is not None:
                await there.readexactly(missing_bytes(data))
                self._trap.spring(asked.fatal)
                return
            writer.write(data)
            await writer.drain()


class _Asked:
    """What a connection carries now; HTTP/1.1 has one request at a time."""

    fatal: SeenStep | None = None
    """The request whose answer is not delivered."""


def step_of(head: bytes, body: bytes) -> str:
    """What the request changes; empty: nothing that matters here."""
    method, target, _ = head.decode().split(" ", 2)
    parts = target.partition("?")[0].strip("/").split("/")
    resource = _resource(parts)
    record = RECORD.search(target.encode()) or RECORD.search(body)
    if method in READING:
        return ""
    if resource == "leases" and record:
        return f"{method} {record.group(1).decode()}"
    return "" if resource in NO_STEPS else f"{method} {resource}"


def _resource(parts: list[str]) -> str:
    """With its subresource: `/api/v1/namespaces/default/pods/web/binding` is `pods/binding`."""
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return "/".join([rest[0], *rest[2:]]) if rest else ""
