"""Clients that do not finish their handshake take little, and keep no other client out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from plimsoll.apiserver import web_server
from plimsoll.apiserver.http.handshakes import HandshakeLimits
from tests.apiserver.sockets import ANSWER_SECONDS, Line, Socket, listening

EAGER = HandshakeLimits(most=3, grace_seconds=0)
PATIENT = HandshakeLimits(most=3, grace_seconds=ANSWER_SECONDS)


@pytest.fixture
async def server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Socket]:
    monkeypatch.setattr(web_server, "HANDSHAKES", request.param)
    async with listening(tmp_path) as found:
        yield found


@asynccontextmanager
async def silent(server: Socket) -> AsyncIterator[Line]:
    """A client that connects and then says nothing."""
    address = urlsplit(server.up.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        yield Line(reader, writer)
    finally:
        writer.transport.abort()


async def ask(server: Socket) -> int:
    async with server.connect() as client:
        await client.send(server.request("GET", "/api/v1/nodes"))
        return await client.status()


@pytest.mark.parametrize("server", [EAGER], indirect=True)
async def test_the_oldest_unfinished_handshake_makes_way_for_the_next_client(
    server: Socket,
) -> None:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(silent(server)) for _ in range(20)]
        assert await ask(server) == 200
        assert [await client.rest() for client in clients[:17]] == [b""] * 17
        assert [client.reader.at_eof() for client in clients[18:]] == [False, False]


@pytest.mark.parametrize("server", [HandshakeLimits(seconds=0.05)], indirect=True, ids=["deadline"])
async def test_a_client_that_does_not_finish_its_handshake_is_cut_off(server: Socket) -> None:
    async with silent(server) as client:
        assert await client.rest() == b""
    assert await ask(server) == 200


@pytest.mark.parametrize("server", [PATIENT], indirect=True)
async def test_clients_that_come_in_a_crowd_are_all_served(server: Socket) -> None:
    assert await asyncio.gather(*(ask(server) for _ in range(50))) == [200] * 50


@pytest.mark.parametrize("server", [PATIENT], indirect=True)
async def test_a_client_that_leaves_makes_way_at_once(server: Socket) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(3):
            await stack.enter_async_context(silent(server))
        waiting = asyncio.ensure_future(ask(server))
        await stack.aclose()
        assert await waiting == 200


@pytest.mark.parametrize("server", [PATIENT], indirect=True)
async def test_a_client_that_does_not_speak_tls_is_sent_away(server: Socket) -> None:
    async with silent(server) as client:
        await client.send(b"GET / HTTP/1.1\r\n\r\n" * 100)
        await client.rest()
    assert await ask(server) == 200
