"""An HTTP/1.1 client that is cheap enough not to be what is measured.

Client and server share the same few cores: every microsecond spent here is missing there. Hence
one connection per worker, no redirects, no compression, bodies counted rather than parsed.
"""

import asyncio
from dataclasses import dataclass
from typing import Self, cast

import httptools

from tests.servers import Endpoint


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


class Connection(asyncio.Protocol):
    """One request after the other over TLS."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._head = (
            f"Host: {endpoint.host}:{endpoint.port}\r\n"
            f"Authorization: Bearer {endpoint.token}\r\n"
            "Accept: application/json\r\nUser-Agent: plimsoll-bench\r\n"
        )
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._parts: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)

    @classmethod
    async def open(cls, endpoint: Endpoint) -> Self:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: cls(endpoint), endpoint.host, endpoint.port, ssl=endpoint.context()
        )
        return connection

    async def request(
        self, method: str, path: str, body: bytes = b"", media_type: str = "application/json"
    ) -> Answer:
        """The answer, whole. Raises ConnectionError if the server hangs up before it ends."""
        if self._transport is None:
            raise ConnectionError("the connection is closed")
        self._answer = asyncio.get_running_loop().create_future()
        length = f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{length}\r\n"
        self._transport.write(head.encode() + body)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not inherit from asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError(f"the server hung up: {exc}"))

    # What the parser calls.

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)

    def on_message_complete(self) -> None:
        body = b"".join(self._parts)
        self._parts.clear()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Answer(self._parser.get_status_code(), body))
        # A parser of its own for every answer: after "Connection: close" it would refuse the next.
        self._parser = httptools.HttpResponseParser(self)


class Watcher(Connection):
    """A watch that counts its events and says when enough have come."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._seen = 0
        self._wanted = 0
        self._enough = asyncio.get_running_loop().create_future()
        self._opened = asyncio.get_running_loop().create_future()

    async def watch(self, path: str, wanted: int) -> None:
        """Opens the watch; returns when the server has accepted it."""
        self._wanted = wanted
        assert self._transport is not None
        self._transport.write(f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode())
        await self._opened

    async def until_all_seen(self) -> None:
        await self._enough

    def on_headers_complete(self) -> None:
        if not self._opened.done():
            self._opened.set_result(None)

    def on_body(self, part: bytes) -> None:
        # Events are lines, and JSON holds no raw line ends.
        self._seen += part.count(b"\n")
        if self._seen >= self._wanted and not self._enough.done():
            self._enough.set_result(None)

    def on_message_complete(self) -> None:
        self._hung_up(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._hung_up(exc)

    def _hung_up(self, exc: Exception | None) -> None:
        why = f"the watch ended after {self._seen} of {self._wanted} events: {exc}"
        for waiting in (self._opened, self._enough):
            if not waiting.done():
                waiting.set_exception(ConnectionError(why))
                # Read it, so that asyncio does not warn where no caller waits for it.
                waiting.exception()
