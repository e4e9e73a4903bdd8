"""The HTTP transport: any API server, over TLS, connections kept and reused.

Answers are not compressed (the network is near, the CPU is not free) and redirects are not
followed (credentials go nowhere but to the server they were given for).
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from http import HTTPStatus
from types import SimpleNamespace, TracebackType
from typing import Self

import aiohttp
from yarl import URL

from plimsoll.wire.access import Access, tls_context
from plimsoll.wire.credentials import ClientCertificate, Identity
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.sockets.connecting import told
from plimsoll.wire.transport import Request, Response, StreamedResponse

CONNECT_TIMEOUT = timedelta(seconds=10)
REQUEST_TIMEOUT = timedelta(seconds=60)
# Shorter than what servers keep: a connection that the server closes at the very moment at which
# we write to it makes the outcome of that write unknown.
KEEPALIVE = timedelta(seconds=4)
CONNECTIONS = 64
BUFFER_BYTES = 1 << 18


class HttpTransport:
    """Streams have connections of their own: a watch never waits behind requests."""

    def __init__(self, access: Access, *, user_agent: str = "plimsoll") -> None:
        self._access = access
        self._user_agent = user_agent
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._certificate: ClientCertificate | None = None
        self._tls: ssl.SSLContext | bool = True
        if access.server.startswith("https:"):
            self._tls = tls_context(access, None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    async def request(self, request: Request) -> Response:
        response = await self._exchange(request)
        is_refused = response.status == HTTPStatus.UNAUTHORIZED
        if is_refused and await self._access.credentials.refused():
            response = await self._exchange(request)
        return response

    async def _exchange(self, request: Request) -> Response:
        try:
            async with await self._open(request, streams=False) as response:
                body = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._failed(request, error) from error
        return Response(status=response.status, headers=_lower(response), body=body)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        response = await self._open_stream(request)
        if response.status == HTTPStatus.UNAUTHORIZED and await self._access.credentials.refused():
            response.close()
            response = await self._open_stream(request)
        try:
            if response.status == HTTPStatus.OK:
                async with aclosing(self._lines(request, response)) as lines:
                    yield StreamedResponse(status=200, headers=_lower(response), lines=lines)
            else:
                body = await response.read()
                yield StreamedResponse(status=response.status, headers=_lower(response), body=body)
        finally:
            response.close()  # not drained: a watch has no end worth waiting for

    async def _open_stream(self, request: Request) -> aiohttp.ClientResponse:
        limit = request.timeout or REQUEST_TIMEOUT
        try:
            async with asyncio.timeout(limit.total_seconds()):
                return await self._open(request, streams=True)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._failed(request, error) from error

    async def _open(self, request: Request, *, streams: bool) -> aiohttp.ClientResponse:
        identity = await self._access.credentials.identity()
        limit = (request.timeout or REQUEST_TIMEOUT).total_seconds()
        timeout = aiohttp.ClientTimeout(
            total=None if streams else limit, sock_connect=CONNECT_TIMEOUT.total_seconds()
        )
        return await self._session(streams=streams).request(
            request.method,
            URL(self._access.server + request.target, encoded=True),
            headers=self._headers(request, identity),
            data=request.body or None,
            ssl=self._tls_for(identity),
            server_hostname=self._access.server_name or None,
            proxy=self._access.proxy or None,
            timeout=timeout,
            allow_redirects=False,
            trace_request_ctx=request.permit,
        )

    def _headers(self, request: Request, identity: Identity) -> list[tuple[str, str]]:
        headers = [("user-agent", self._user_agent), ("accept-encoding", "identity")]
        if identity.authorization:
            headers.append(("authorization", identity.authorization))
        return [*headers, *self._access.headers, *request.headers.items()]

    def _tls_for(self, identity: Identity) -> ssl.SSLContext | bool:
        if identity.certificate != self._certificate and not isinstance(self._tls, bool):
            self._tls = tls_context(self._access, identity.certificate)
            self._certificate = identity.certificate
        return self._tls

    def _session(self, *, streams: bool) -> aiohttp.ClientSession:
        """Made on first use, because it belongs to the event loop that runs then."""
        session = self._sessions.get(streams)
        if session is None:
            connector = aiohttp.TCPConnector(
                limit=0 if streams else CONNECTIONS, keepalive_timeout=KEEPALIVE.total_seconds()
            )
            session = aiohttp.ClientSession(
                connector=connector,
                trust_env=False,
                read_bufsize=BUFFER_BYTES,
                trace_configs=[_permitting()],
            )
            self._sessions[streams] = session
        return session

    async def _lines(
        self, request: Request, response: aiohttp.ClientResponse
    ) -> AsyncGenerator[bytes, None]:
        rest = b""
        try:
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield line
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._failed(request, error) from error

    def _failed(self, request: Request, error: Exception) -> KubeError:
        """The server cannot have seen a request for which there was no connection."""
        was_never_sent = isinstance(
            error,
            aiohttp.ClientConnectorError
            | aiohttp.ConnectionTimeoutError
            | aiohttp.ClientHttpProxyError,
        )
        failure = Failure.UNAVAILABLE if was_never_sent else Failure.UNKNOWN_OUTCOME
        message = f"{self._access.server} ({self._access.source}): {told(error)}"
        return KubeError(failure, message, operation=f"{request.method} {request.path}")


def _permitting() -> aiohttp.TraceConfig:
    """Asks for the permit of a request when its connection is there, and nothing was sent."""
    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(_ask_permit)
    config.on_connection_create_end.append(_ask_permit)
    return config


async def _ask_permit(_session: aiohttp.ClientSession, trace: SimpleNamespace, _: object) -> None:
    permit: Callable[[], None] | None = trace.trace_request_ctx
    if permit is not None:
        permit()


def _lower(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}
