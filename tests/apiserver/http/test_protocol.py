"""The head of a request has limits, and those who ignore them are shown the door."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from plimsoll.apiserver.http import protocol
from plimsoll.apiserver.http.protocol import HEAD_LIMIT
from tests.apiserver.api import MAPS, a_map
from tests.apiserver.sockets import Socket, listening

START = b"GET /version HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Socket]:
    async with listening(tmp_path) as server:
        yield server


async def test_a_head_within_the_limit_is_read_however_it_arrives(server: Socket) -> None:
    async with server.connect() as line:
        await line.send(START, b"X-Long: " + b"y" * (HEAD_LIMIT - 200), b"\r\n", b"\r\n")
        assert await line.status() == 200
        # The limit is for each head anew.
        await line.send(START, b"X-Long: " + b"y" * (HEAD_LIMIT - 200), b"\r\n\r\n")
        assert await line.status() == 200


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b"X-Long: " + b"y" * (HEAD_LIMIT + 1), id="one-long-line"),
        pytest.param(b"X: y\r\n" * (HEAD_LIMIT // 6 + 10), id="many-lines"),
    ],
)
async def test_a_head_beyond_the_limit_is_refused_and_the_connection_ended(
    server: Socket, piece: bytes
) -> None:
    async with server.connect() as line:
        await line.send(START, piece)
        status, headers, body = await line.answer()
        assert (status, headers["connection"]) == (431, "close")
        assert msgspec.json.decode(body)["kind"] == "Status"
        assert await line.rest() == b""


@pytest.mark.parametrize("size", [HEAD_LIMIT // 2, HEAD_LIMIT - 100, 4 * HEAD_LIMIT])
async def test_a_head_beyond_the_limit_is_refused_however_it_arrives(
    server: Socket, size: int
) -> None:
    """Also when its last piece has the end in it, or a request went before."""
    first = server.request("POST", MAPS, a_map("a", "x" * 1000))
    long = b"X-Long: " + b"y" * (size - 10) + b"\r\n"
    async with server.connect() as line:
        await line.send(first)
        assert await line.status() == 201
        await line.send(START, *(long for _ in range(2 * HEAD_LIMIT // size)), long + b"\r\n")
        assert await line.status() == 431


async def test_a_body_that_ends_in_the_read_that_a_head_begins_in_does_not_count(
    server: Socket,
) -> None:
    async with server.connect() as line:
        await line.send(
            server.request("POST", MAPS, a_map("a", "x" * (3 * HEAD_LIMIT))) + START, b"\r\n"
        )
        assert [await line.status(), await line.status()] == [201, 200]


async def test_a_large_body_that_comes_with_its_head_is_no_large_head(server: Socket) -> None:
    async with server.connect() as line:
        await line.send(server.request("POST", MAPS, a_map("a", "x" * (3 * HEAD_LIMIT))))
        assert await line.status() == 201


async def test_a_head_that_never_ends_is_not_waited_for(
    server: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.05)
    async with server.connect() as line:
        await line.send(START)
        assert await line.rest() == b""


async def test_a_client_that_does_not_take_its_answer_is_cut_off(
    server: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "WRITE_SECONDS", 0.2)
    text = "x" * 900_000
    async with server.connect() as line:
        for number in range(20):
            await line.send(server.request("POST", MAPS, a_map(f"m-{number}", text)))
            assert await line.status() == 201
    for target in (MAPS, f"{MAPS}?watch=true"):
        async with server.connect() as deaf, server.connect() as idle:
            await idle.send(server.request("GET", "/api/v1/nodes?watch=true"))
            head = await idle.reader.readuntil(b"\r\n\r\n")
            assert b"200" in head
            await deaf.send(server.request("GET", target))
            deaf.reader._transport.pause_reading()  # type: ignore[attr-defined]  # noqa: SLF001 - no other way not to read
            await asyncio.sleep(1)
            deaf.reader._transport.resume_reading()  # type: ignore[attr-defined]  # noqa: SLF001
            assert len(await deaf.rest()) < 20 * 900_000
            # Connections that only wait are not meant.
            await idle.send(server.request("POST", "/api/v1/nodes", {"metadata": {"name": "n"}}))
            assert not idle.reader.at_eof()


async def test_what_is_no_http_is_refused_as_a_status(server: Socket) -> None:
    async with server.connect() as line:
        await line.send(b"HELLO\r\n\r\n")
        status, _, body = await line.answer()
        assert status == 400
        assert msgspec.json.decode(body)["code"] == 400


@pytest.mark.parametrize(
    ("head", "said"),
    [
        pytest.param(b"", "missing required Host header", id="none"),
        pytest.param(b"Host: a\r\nhost: b\r\n", "too many Host headers", id="two"),
        pytest.param(b"Host: a b\r\n", "malformed Host header", id="with-a-space"),
        pytest.param(b"Host: a/b\r\n", "malformed Host header", id="a-path"),
        pytest.param(b"Host: \xc3\xa9\r\n", "malformed Host header", id="not-ascii"),
    ],
)
async def test_a_request_says_at_which_host_it_is_sent(
    server: Socket, head: bytes, said: str
) -> None:
    async with server.connect() as line:
        await line.send(b"GET /version HTTP/1.1\r\n" + head + b"\r\n")
        status, headers, body = await line.answer()
        assert (status, headers["connection"]) == (400, "close")
        assert msgspec.json.decode(body)["message"] == said
        assert await line.rest() == b""


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"GET /version HTTP/1.0\r\n", id="http-1.0"),
        pytest.param(b"GET /version HTTP/1.1\r\nHost:\r\n", id="empty"),
        pytest.param(b"GET /version HTTP/1.1\r\nHost: [::1]:5\r\n", id="an-address"),
        pytest.param(b"GET /version HTTP/1.1\r\nHost: a%zz\r\n", id="escaped"),
    ],
)
async def test_hosts_that_the_real_server_takes_are_taken(server: Socket, head: bytes) -> None:
    async with server.connect() as line:
        await line.send(head + b"\r\n")
        assert await line.status() == 200


async def test_a_good_request_before_one_without_a_host_is_answered(server: Socket) -> None:
    async with server.connect() as line:
        await line.send(START + b"\r\n")
        assert await line.status() == 200
        await line.send(b"GET /version HTTP/1.1\r\n\r\n")
        assert await line.status() == 400


async def test_requests_that_come_together_are_answered_in_order(server: Socket) -> None:
    async with server.connect() as line:
        await line.send(
            server.request("POST", MAPS, a_map("a")) + server.request("GET", f"{MAPS}/a")
        )
        assert [await line.status(), await line.status()] == [201, 200]


async def test_a_large_body_that_arrives_together_with_its_head_is_answered(
    server: Socket,
) -> None:
    """Twice on one connection: the first must not count for the head of the second."""
    async with server.connect() as line:
        for name in ("first", "second"):
            await line.send(server.request("POST", MAPS, a_map(name, "x" * (3 * HEAD_LIMIT))))
            assert await line.status() == 201
