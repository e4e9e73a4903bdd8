"""The web server of the API server: uvicorn on a loopback port, with TLS and limits of ours.

It serves nothing without TLS. When it stops, all requests get their answers and all watches end;
then connections are cut.
"""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import uvicorn

from plimsoll.apiserver.http.app import AsgiApp
from plimsoll.apiserver.http.certificates import ServerCredentials
from plimsoll.apiserver.http.connections import ConnectionLimits
from plimsoll.apiserver.http.handshakes import HandshakeLimits, TlsListener
from plimsoll.apiserver.http.protocol import BoundedProtocol
from plimsoll.runtime.clock import Clock
from plimsoll.wire.sockets.listening import ListenError, listening_told

LOOPBACK = "127.0.0.1"
BACKLOG = 1024
KEEP_ALIVE_SECONDS = 120
STOP_SECONDS = 5
HANDSHAKES = HandshakeLimits()
FAREWELL_SECONDS = 1
"""How long clients have to say goodbye; some never do, and the server does not wait for them."""


class WebServer(uvicorn.Server):
    """Its process watches for signals; handshakes have limits of ours."""

    def __init__(self, config: uvicorn.Config, clock: Clock) -> None:
        super().__init__(config)
        self._clock = clock

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        context = self.config.ssl
        if context is None:
            raise ValueError("connections without TLS are not served")
        listeners = [
            TlsListener(
                listener, context, self._make_protocol, limits=HANDSHAKES, clock=self._clock
            )
            for listener in sockets or ()
        ]
        self.servers = listeners  # type: ignore[assignment]  # closed and waited for, no more
        self.started = True

    def _make_protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]  # one of uvicorn's
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )

    def show(self, credentials: ServerCredentials) -> None:
        """To new connections; those that are open keep what they began with."""
        if self.config.ssl is not None:
            self.config.ssl.load_verify_locations(credentials.authority)
            self.config.ssl.load_cert_chain(credentials.server_certificate, credentials.server_key)


def listening(port: int) -> socket.socket:
    """Raises ListenError."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        with listening_told("the API", LOOPBACK, port):
            listener.bind((LOOPBACK, port))
            listener.listen(BACKLOG)
    except ListenError:
        listener.close()
        raise
    return listener


def web_config(app: AsgiApp, credentials: ServerCredentials) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=partial(BoundedProtocol, ConnectionLimits()),  # type: ignore[arg-type]  # it calls it, no more
        ws="none",
        lifespan="off",
        interface="asgi3",
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        ssl_certfile=credentials.server_certificate,
        ssl_keyfile=credentials.server_key,
        ssl_ca_certs=str(credentials.authority),
        ssl_cert_reqs=ssl.CERT_OPTIONAL,
    )


async def started(web: uvicorn.Server, task: "asyncio.Future[None]") -> None:
    while not web.started:
        await asyncio.wait((task,), timeout=0.01)
        if task.done():
            task.result()
            raise RuntimeError("the web server ended before it had begun")


async def stopped(web: uvicorn.Server, task: "asyncio.Future[None]") -> None:
    """All have their answers, and all watches have ended; then connections are cut."""
    web.should_exit = True
    await asyncio.wait((task,), timeout=FAREWELL_SECONDS)
    for connection in tuple(web.server_state.connections):
        if connection.transport is not None:
            connection.transport.abort()
