"""HTTP/1.1 by uvicorn, with limits on heads, on waiting, and a say in how connections end.

A client that sends its head too slowly, or takes what it asked for too slowly, is cut off. One that
waits for something to happen, as a watch does, is not: nothing is owed by either side then.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from plimsoll.apiserver.http.connections import ConnectionLimits
from plimsoll.apiserver.model.status import ApiError

HEAD_LIMIT = 64 * 1024
HEAD_SECONDS = 30.0
WRITE_SECONDS = 30.0
"""How long a client may leave its answer lying before its connection is cut."""
FAREWELL_SECONDS = 5.0
"""How long a connection may take to end once the server has closed it."""
UNREAD_SECONDS = 0.02
"""The same where the server has not read the whole request and will not."""
PEER = "plimsoll.peer"

HOST = re.compile(rb"[A-Za-z0-9!$%&()*+,\-.:;=\[\]'_~]*")
_LINE_BYTES = len(b": \r\n")
_REFUSALS = {
    400: ("Bad Request", "BadRequest"),
    431: ("Request Header Fields Too Large", "RequestHeaderFieldsTooLarge"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The other end of a connection."""

    certificate: dict[str, object] | None
    """The client certificate that the TLS handshake verified."""
    abort: Callable[[], None]
    """Cut the connection, whatever is still to be sent."""
    recognise: Callable[[str], bool]
    """Say that the client has shown credentials, and of whom; empty for administrators. False: the
    user has too many connections, and this one should end."""
    stop_reading: Callable[[], None]
    """Take nothing more from it: it gets an answer and is sent away."""


class HeadTooLargeError(Exception):
    """Ends the parsing of a request whose head has more than HEAD_LIMIT bytes."""


def complaint_about_host(hosts: list[bytes], version: str) -> str:
    """What Go's server says of the Host headers of a request; empty if they are in order."""
    if not hosts:
        return "" if version == "1.0" else "missing required Host header"
    if len(hosts) > 1:
        return "too many Host headers"
    return "" if HOST.fullmatch(hosts[0]) else "malformed Host header"


class BadHostError(Exception):
    """Ends the parsing of a request that does not say properly at which host it is sent."""


class BoundedProtocol(HttpToolsProtocol):
    """Refuses request heads that are too large or take too long, and tells the app its peer."""

    _bad_host = ""
    """What is wrong with the Host header of the request at hand."""
    _head_bytes = 0
    """Of the head as far as it was parsed."""
    _unparsed_bytes = 0
    """Received since the head began, by whole reads."""
    _has_ended_request = False
    """Whether the read at hand had the end of a request in it."""
    _in_head = True
    _deadline: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None
    _ending: asyncio.TimerHandle | None = None
    _peer: Peer

    def __init__(self, limits: ConnectionLimits, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._limits = limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it as well
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        self._peer = Peer(
            certificate=tls.getpeercert() or None if tls is not None else None,
            abort=transport.abort,
            # Nothing here refers to this protocol: a circle would keep its buffers until the
            # collector finds it.
            recognise=partial(self._limits.recognise, transport),
            stop_reading=self.flow.pause_reading,
        )
        self._limits.enter(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._limits.leave(self.transport)
        for timer in (self._deadline, self._writing, self._ending):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head and self._deadline is None:
            self._expect_head()
        self._has_ended_request = False
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            # A head that began behind a request in this very read is counted from the next one on.
            self._unparsed_bytes = (
                0 if self._has_ended_request else self._unparsed_bytes + len(data)
            )
            if self._unparsed_bytes > HEAD_LIMIT:
                self._refuse(431, "the head of the request is too large")

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        self._bad_host = ""
        state: dict[str, Any] = self.scope["state"]
        state[PEER] = self._peer

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + _LINE_BYTES)
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_LIMIT:
            raise HeadTooLargeError

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._unparsed_bytes = 0
        self._stop_waiting()
        self._check_host()
        super().on_headers_complete()

    def _check_host(self) -> None:
        if self.parser.get_method() == b"CONNECT":
            return
        hosts = [value for name, value in self.headers if name == b"host"]
        self._bad_host = complaint_about_host(hosts, self.parser.get_http_version())
        if self._bad_host:
            raise BadHostError

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True
        self._has_ended_request = True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            # A client that was refused may go on sending, which the end of TLS would read.
            self._end_soon(UNREAD_SECONDS if self.cycle.more_body else FAREWELL_SECONDS)

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None
        super().resume_writing()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: no upgrade is offered on purpose, and the client gets its answer."""

    def send_400_response(self, msg: str) -> None:
        if self._head_bytes > HEAD_LIMIT:
            self._refuse(431, "the head of the request is too large")
        else:
            self._refuse(400, self._bad_host or msg)

    def _refuse(self, code: int, message: str) -> None:
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[redundant-expr]  # it begins as None
            # An answer is on its way: what is written now would be taken for a part of it.
            self._close()
            return
        words, reason = _REFUSALS[code]
        body = msgspec.json.encode(ApiError(code, reason, message).document)
        head = (
            f"HTTP/1.1 {code} {words}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._end_soon(FAREWELL_SECONDS)

    def _end_soon(self, seconds: float) -> None:
        """A client that does not say goodbye is not waited for."""
        if self._ending is None:
            self._ending = self.loop.call_later(seconds, self.transport.abort)
