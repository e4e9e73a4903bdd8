import asyncio
import socket
from datetime import timedelta
from http import HTTPStatus

import pytest

from plimsoll.wire.health import OK, ServedPage, not_yet, serving
from plimsoll.wire.probe import is_answered
from plimsoll.wire.sockets.listening import ListenError

PAGES = {
    "/healthz": lambda: OK,
    "/readyz": lambda: not_yet("still looking"),
    "/metrics": lambda: ServedPage(b"claims 3\n", content_type="text/plain; version=0.0.4"),
}


async def ask(port: int, request: bytes) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answered = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answered.partition("\r\n\r\n")
    return int(head.split(" ")[1]), body


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        ("GET /healthz HTTP/1.1", HTTPStatus.OK, "ok\n"),
        ("GET /healthz?verbose HTTP/1.0", HTTPStatus.OK, "ok\n"),
        ("HEAD /healthz HTTP/1.1", HTTPStatus.OK, ""),
        ("GET /readyz HTTP/1.1", HTTPStatus.SERVICE_UNAVAILABLE, "still looking\n"),
        ("GET /metrics HTTP/1.1", HTTPStatus.OK, "claims 3\n"),
        ("GET /secrets HTTP/1.1", HTTPStatus.NOT_FOUND, "not found\n"),
        ("POST /healthz HTTP/1.1", HTTPStatus.METHOD_NOT_ALLOWED, "only GET\n"),
        ("good morning", HTTPStatus.BAD_REQUEST, "not HTTP\n"),
    ],
)
async def test_known_pages_are_served_and_nothing_else(
    request_line: str, status: HTTPStatus, body: str
) -> None:
    async with serving(0, PAGES) as port:
        request = f"{request_line}\r\nHost: localhost\r\n\r\n".encode()
        assert await ask(port, request) == (status, body)


async def test_a_request_without_end_is_cut_off() -> None:
    async with serving(0, PAGES) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /" + b"x" * 100_000)
        assert await reader.read() == b""
        writer.close()
        assert await ask(port, b"GET /healthz HTTP/1.1\r\n\r\n") == (200, "ok\n")


async def test_a_port_that_is_taken_is_an_error() -> None:
    async with serving(0, PAGES) as port:
        with pytest.raises(ListenError) as told:
            async with serving(port, PAGES):
                pass
    assert str(told.value) == (
        f"health and metrics cannot be served on 127.0.0.1:{port}: another program listens there;"
        " choose another port, or 0 for a free one"
    )


async def test_any_status_is_an_answer_and_a_closed_port_is_none() -> None:
    async with serving(0, PAGES) as port:
        for path in ("/healthz", "/readyz", "/secrets"):
            assert await is_answered(f"http://127.0.0.1:{port}{path}", timedelta(seconds=60))
    assert not await is_answered(f"http://127.0.0.1:{port}/healthz", timedelta(seconds=60))


async def test_a_server_that_takes_connections_and_says_nothing_does_not_answer() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/healthz"
        assert not await is_answered(url, timedelta(milliseconds=50))
