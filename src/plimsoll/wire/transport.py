"""The protocol between the Kubernetes client and what carries its requests.

A transport knows who the caller is and how to reach a server; it knows nothing about kinds.
There are two: HTTP (`wire.http`), and in-process beside the embedded API server. Both carry the
same bytes, so a client cannot tell them apart and shares no mutable object with the server.

A transport answers with the status that the server gave, 4xx and 5xx included. It raises a
`KubeError` only when there is no answer: UNAVAILABLE when the server cannot have seen the
request, UNKNOWN_OUTCOME when it may have.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Credentials are not part of it: identity belongs to the transport."""

    method: str
    path: str
    """Absolute and percent-encoded, without the query: `/api/v1/namespaces/default/pods`."""
    query: tuple[tuple[str, str], ...] = ()
    """Decoded pairs, in order; a name may occur twice."""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    timeout: timedelta | None = None
    """Time allowed until the answer (for a stream: its head) is there; None leaves it to the
    transport."""
    permit: Callable[[], None] | None = None
    """Called when everything is ready to send; raises KubeError if the request must not leave."""

    @property
    def query_string(self) -> str:
        return urlencode(self.query)

    @property
    def target(self) -> str:
        """What stands in an HTTP request line: the path and the encoded query."""
        return f"{self.path}?{self.query_string}" if self.query else self.path

    @property
    def is_read(self) -> bool:
        """Repeating a read is always harmless."""
        return self.method in ("GET", "HEAD", "OPTIONS")


class Response(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""


class SharedLine(bytes):
    """A line of a watch that several readers in this process get.

    It remembers what it was decoded to, which is immutable: what the first reader has decoded, the
    others need not. For all else it is a line like any other.
    """

    def __init__(self, _line: bytes) -> None:
        super().__init__()
        self.decoded: dict[object, Any] = {}
        """By what decoded it."""


NO_LINES: tuple[bytes, ...] = ()


async def _nothing() -> AsyncIterator[bytes]:
    for line in NO_LINES:
        yield line


class StreamedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a streamed answer; its lines arrive as long as the stream is open.

    A status other than 200 has no lines: the refusal is in `body`.
    """

    status: int
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes = b""
    lines: AsyncIterator[bytes] = msgspec.field(default_factory=_nothing)
    """Whole lines without their end, none empty. Ends when the server ends the stream; raises
    KubeError when the connection breaks."""


class Transport(Protocol):
    async def request(self, request: Request) -> Response: ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        """Open a stream for the length of an `async with`; leaving it closes the stream."""
        ...

    async def close(self) -> None:
        """Let go of connections; the transport is of no use afterwards."""
        ...
