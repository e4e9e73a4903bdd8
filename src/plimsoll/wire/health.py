"""Health and metrics of a process over HTTP: is it alive, is it ready, what has it counted.

Plain HTTP on loopback, for supervisors and collectors on the same machine. Only GET and HEAD of
known paths are answered, one request per connection, with bounds on size and time: no client can
keep the process busy.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

from plimsoll.runtime.metrics import CONTENT_TYPE, Metrics
from plimsoll.wire.sockets.listening import listening_told

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
REQUEST_BYTES = 8192
REQUEST_SECONDS = 5
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class ServedPage:
    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = TEXT


OK = ServedPage(b"ok\n")
Pages = Mapping[str, Callable[[], ServedPage]]
"""By path: `/healthz`."""


def not_yet(why: str) -> ServedPage:
    return ServedPage(f"{why}\n".encode(), HTTPStatus.SERVICE_UNAVAILABLE)


def usual_pages(metrics: Metrics, ready: Callable[[], ServedPage]) -> Pages:
    """Those that every process has."""
    return {
        "/healthz": lambda: OK,
        "/livez": lambda: OK,
        "/readyz": ready,
        "/metrics": lambda: ServedPage(metrics.exposition(), content_type=CONTENT_TYPE),
    }


@asynccontextmanager
async def serving(port: int, pages: Pages, host: str = LOOPBACK) -> AsyncIterator[int]:
    """The port it answers on, until the block ends; 0 takes a free one. Raises ListenError."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(head, pages))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            log.debug("health request broken off")
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    with listening_told("health and metrics", host or "*", port):
        server = await asyncio.start_server(answer, host, port, limit=REQUEST_BYTES)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def _answer(head: bytes, pages: Pages) -> bytes:
    line = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    page = _page(line, pages)
    fields = (
        f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n"
        f"Content-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return fields.encode() + (b"" if line[0] == "HEAD" else page.body)


def _page(line: list[str], pages: Pages) -> ServedPage:
    match line:
        case ["GET" | "HEAD", target, _]:
            found = pages.get(target.partition("?")[0])
            return found() if found else ServedPage(b"not found\n", HTTPStatus.NOT_FOUND)
        case [_, _, _]:
            return ServedPage(b"only GET\n", HTTPStatus.METHOD_NOT_ALLOWED)
        case _:
            return ServedPage(b"not HTTP\n", HTTPStatus.BAD_REQUEST)
