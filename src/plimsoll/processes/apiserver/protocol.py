"""HTTP/1.1 by uvicorn, with limits on the head of a request and a say in how connections end."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from plimsoll.api.status import ApiError

HEAD_LIMIT = 64 * 1024
HEAD_SECONDS = 30.0
PEER = "plimsoll.peer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The other end of a connection."""

    certificate: dict[str, object] | None
    """The client certificate that the TLS handshake verified."""
    abort: Callable[[], None]
    """Cut the connection, whatever is still to be sent."""


class BoundedProtocol(HttpToolsProtocol):
    """Refuses request heads that are too large or take too long, and tells the app its peer."""

    _head_bytes = 0
    _in_head = True
    _deadline: asyncio.TimerHandle | None = None
    _peer: Peer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it as well
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        self._peer = Peer(
            certificate=tls.getpeercert() or None if tls is not None else None,
            abort=transport.abort,
        )
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_LIMIT and not self._parses_to_body(data):
                self._refuse(431, "the head of the request is too large")
                return
            if self._deadline is None:
                self._expect_head()
        super().data_received(data)

    def _parses_to_body(self, data: bytes) -> bool:
        """A large body may arrive together with its head."""
        return b"\r\n\r\n" in data[: HEAD_LIMIT + 4]

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        state: dict[str, Any] = self.scope["state"]
        state[PEER] = self._peer

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: no upgrade is offered on purpose, and the client gets its answer."""

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _refuse(self, code: int, message: str) -> None:
        reason = "BadRequest"
        body = msgspec.json.encode(ApiError(code, reason, message).document)
        words = {400: "Bad Request", 431: "Request Header Fields Too Large"}[code]
        head = (
            f"HTTP/1.1 {code} {words}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
