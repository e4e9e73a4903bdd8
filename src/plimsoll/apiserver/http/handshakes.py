"""TLS handshakes within limits: how many at a time, and how long each may take.

A connection takes memory from its beginning, and nothing is known of its client before the
handshake has ended. So few handshakes go on at a time. When there are that many, the next client
waits until one of them has ended, or until the oldest has had its grace and is cut: clients that
come in a crowd all get in, and clients that never finish keep none out for long.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from plimsoll.runtime.clock import Clock

log = logging.getLogger(__name__)

NO_FILES = timedelta(milliseconds=500)
"""How long no connection is accepted after the system refused one, mostly for want of files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandshakeLimits:
    most: int = 256
    seconds: float = 10.0
    """How long a handshake may take."""
    grace_seconds: float = 1.0
    """How long it may take when others wait."""


@dataclass(frozen=True, slots=True)
class _Handshake:
    client: socket.socket
    begun: float

    def cut(self) -> None:
        """The transport has the socket and closes it when it reads the end."""
        with contextlib.suppress(OSError):
            self.client.shutdown(socket.SHUT_RDWR)


class TlsListener:
    """Accepts connections, and makes a protocol for each."""

    def __init__(
        self,
        listener: socket.socket,
        context: ssl.SSLContext,
        make_protocol: Callable[[], asyncio.Protocol],
        *,
        limits: HandshakeLimits,
        clock: Clock,
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._context = context
        self._make_protocol = make_protocol
        self._limits = limits
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._handshakes: dict[asyncio.Task[None], _Handshake] = {}
        """In the order in which they began."""
        self._accepting = asyncio.ensure_future(self._accept())

    def close(self) -> None:
        """Accept no more, and end what has not become a connection."""
        self._accepting.cancel()
        for handshake in self._handshakes.values():
            handshake.cut()

    async def wait_closed(self) -> None:
        await asyncio.gather(self._accepting, *self._handshakes, return_exceptions=True)

    async def _accept(self) -> None:
        while True:
            try:
                client, _ = await self._loop.sock_accept(self._listener)
            except OSError as error:
                log.warning("connection not accepted", extra={"why": str(error)})
                await self._clock.sleep(NO_FILES)
                continue
            while len(self._handshakes) >= self._limits.most:
                await self._make_way()
            task = asyncio.ensure_future(self._shake_hands(client))
            self._handshakes[task] = _Handshake(client, self._loop.time())
            task.add_done_callback(self._forget)

    async def _make_way(self) -> None:
        """Wait until a handshake has ended, or cut the oldest."""
        task, oldest = next(iter(self._handshakes.items()))
        left = oldest.begun + self._limits.grace_seconds - self._loop.time()
        if left > 0:
            await asyncio.wait(self._handshakes, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        else:
            oldest.cut()
            self._forget(task)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._handshakes.pop(task, None)

    async def _shake_hands(self, client: socket.socket) -> None:
        # The client left, took too long, does not speak TLS, or does not trust this server.
        with contextlib.suppress(OSError):
            await self._loop.connect_accepted_socket(
                self._make_protocol,
                client,
                ssl=self._context,
                ssl_handshake_timeout=self._limits.seconds,
            )
