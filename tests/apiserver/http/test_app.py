"""HTTP in, answers out: identity, bodies, streams, and how connections end."""

import asyncio
import socket
import stat
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from plimsoll.apiserver.http import bodies
from plimsoll.apiserver.http.app import QUERY_LIMIT
from plimsoll.apiserver.http.bodies import BODY_LIMIT
from plimsoll.apiserver.main import ApiServerSettings, serving
from plimsoll.apiserver.storage import watch_hub
from tests.apiserver.api import MAPS, a_map
from tests.apiserver.sockets import Line, Socket, listening


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Socket]:
    async with listening(tmp_path) as server:
        yield server


async def ask(server: Socket, method: str, target: str, body: object = None) -> tuple[int, bytes]:
    async with server.connect() as line:
        await line.send(server.request(method, target, body))
        status, _, content = await line.answer()
        return status, content


async def test_a_token_or_a_certificate_makes_an_administrator(server: Socket) -> None:
    plain = b"GET /api/v1/namespaces/default HTTP/1.1\r\nHost: x\r\n"
    wrong = plain + b"Authorization: Bearer wrong\r\n"
    async with server.connect() as line:
        for head, status in ((plain, 403), (wrong, 401)):
            await line.send(head + b"\r\n")
            assert await line.status() == status
        await line.send(server.request("GET", "/api/v1/namespaces/default"))
        assert await line.status() == 200
    async with server.connect(server.tls(with_certificate=True)) as line:
        await line.send(plain + b"\r\n")
        assert await line.status() == 200


async def test_a_body_beyond_the_limit_is_refused_before_it_is_read(server: Socket) -> None:
    async with server.connect() as line:
        head = server.request("POST", MAPS, None, f"Content-Length: {BODY_LIMIT + 1}")
        await line.send(head)
        assert await line.status() == 413


def sent_and_read(server: Socket, request: bytes) -> bytes:
    """What a client gets to see that reads nothing before it has sent everything."""
    address = urlsplit(server.up.url)
    with socket.create_connection((str(address.hostname), address.port or 0)) as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        with server.tls().wrap_socket(plain, server_hostname=address.hostname) as line:
            line.sendall(request)
            return line.read()


async def test_a_client_that_sends_all_of_a_body_before_it_reads_is_told_that_it_is_too_large(
    server: Socket,
) -> None:
    body = b"x" * (BODY_LIMIT + (2 << 20))
    head = server.request("POST", MAPS, None, f"Content-Length: {len(body)}")
    answer = await asyncio.to_thread(sent_and_read, server, head + body)
    assert answer.startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(("credentials", "status"), [("", 403), ("Bearer wrong", 401)])
async def test_nothing_is_read_from_those_who_may_not_ask(
    server: Socket, credentials: str, status: int
) -> None:
    head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n"
    if credentials:
        head += f"Authorization: {credentials}\r\n"
    async with server.connect() as line:
        await line.send(head.encode() + b"\r\n" + b"x" * 1000)
        found, headers, _ = await line.answer()
        assert (found, headers["connection"]) == (status, "close")
        assert await line.rest() == b""


async def test_a_body_that_does_not_arrive_is_not_waited_for(
    server: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BODY_TIME", timedelta(seconds=0.1))
    async with server.connect() as line:
        await line.send(server.request("POST", MAPS, a_map("a", "x" * 1000))[:-1])
        status, headers, _ = await line.answer()
        assert (status, headers["connection"]) == (408, "close")
        assert await line.rest() == b""


async def test_bodies_that_take_too_much_together_are_refused_until_there_is_room(
    server: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BODIES_LIMIT", 100_000)
    request = server.request("POST", MAPS, a_map("a", "x" * 60_000))
    async with server.connect() as first, server.connect() as second:
        await first.send(request[:-1])
        await asyncio.sleep(0.1)
        await second.send(request)
        status, headers, _ = await second.answer()
        assert (status, headers["retry-after"]) == (429, "1")
        await first.send(request[-1:])
        assert await first.status() == 201
    async with server.connect() as third:
        await third.send(server.request("PUT", f"{MAPS}/a", a_map("a", "x" * 60_000)))
        assert await third.status() == 200


async def test_a_body_in_pieces_is_put_together(server: Socket) -> None:
    body = msgspec.json.encode(a_map("a", "text"))
    chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:7], body[7:])]
    async with server.connect() as line:
        await line.send(
            server.request("POST", MAPS, None, "Transfer-Encoding: chunked"), *chunks, b"0\r\n\r\n"
        )
        assert await line.status() == 201


async def test_a_query_with_too_many_parameters_is_a_bad_request(server: Socket) -> None:
    assert (await ask(server, "GET", f"{MAPS}?{'&'.join('a=b' for _ in range(QUERY_LIMIT))}"))[
        0
    ] == 200
    assert (await ask(server, "GET", f"{MAPS}?{'&'.join('a=b' for _ in range(QUERY_LIMIT + 1))}"))[
        0
    ] == 400


async def test_a_client_that_leaves_in_the_middle_of_its_request_leaves_no_object(
    server: Socket,
) -> None:
    whole = server.request("POST", MAPS, a_map("half", "x" * 1000))
    async with server.connect() as line:
        await line.send(whole[:-100])
    assert (await ask(server, "GET", f"{MAPS}/half"))[0] == 404


async def test_only_the_head_is_sent_to_those_who_ask_for_no_more(server: Socket) -> None:
    async with server.connect() as line:
        await line.send(server.request("HEAD", "/version"), server.request("GET", f"{MAPS}/none"))
        head = await line.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert await line.status() == 404


async def events(line: Line, number: int) -> list[str]:
    """The types of the next events of a chunked stream."""
    found: list[str] = []
    while len(found) < number:
        async with asyncio.timeout(10):
            text = await line.reader.readline()
        if text.startswith(b"{"):
            found.append(msgspec.json.decode(text)["type"])
    return found


async def test_a_watch_over_http_shows_changes_as_they_are_made(server: Socket) -> None:
    async with server.connect() as line:
        await line.send(server.request("GET", f"{MAPS}?watch=true"))
        assert (await line.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await ask(server, "POST", MAPS, a_map("a"))
        await ask(server, "PUT", f"{MAPS}/a", a_map("a", "2"))
        await ask(server, "DELETE", f"{MAPS}/a")
        assert await events(line, 3) == ["ADDED", "MODIFIED", "DELETED"]


async def number_of_watches(server: Socket, wanted: int) -> int:
    hub = server.up.server.cluster.hub
    for _ in range(200):
        if hub.number() == wanted:
            break
        await asyncio.sleep(0.01)
    return hub.number()


async def test_a_watch_whose_client_left_is_forgotten(server: Socket) -> None:
    async with server.connect() as line:
        await line.send(server.request("GET", f"{MAPS}?watch=true"))
        await line.reader.readuntil(b"\r\n\r\n")
        assert await number_of_watches(server, 1) == 1
    assert await number_of_watches(server, 0) == 0


async def test_a_client_that_does_not_read_is_cut_off(
    server: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_hub, "BUFFER_BYTES", 500_000)
    async with server.connect() as line:
        await line.send(server.request("GET", f"{MAPS}?watch=true"))
        await line.reader.readuntil(b"\r\n\r\n")
        line.writer.transport.pause_reading()  # type: ignore[attr-defined]  # it reads as well
        large = "x" * 900_000
        for number in range(12):
            assert (await ask(server, "POST", MAPS, a_map(f"m-{number}", large)))[0] == 201
        assert await number_of_watches(server, 0) == 0


async def test_what_was_acknowledged_over_http_is_there_in_the_next_life(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    settings = ApiServerSettings(data_dir=tmp_path / "data", write_kubeconfig=config)
    async with serving(settings) as up:
        status, made = await ask(Socket(up), "POST", MAPS, a_map("a"))
        assert status == 201
        token = up.credentials.admin_token
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert token in config.read_text()
    async with serving(settings) as up:
        assert up.credentials.admin_token == token
        assert await ask(Socket(up), "GET", f"{MAPS}/a") == (200, made)
