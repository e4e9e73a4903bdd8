"""How much memory clients can make the server hold: little, with or without credentials."""

import contextlib
import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.servers import TRUSTING, EmbeddedServer

MEBIBYTE = 1 << 20
MAPS = "/api/v1/namespaces/default/configmaps"
BODY_BYTES = 3 * MEBIBYTE
SENDERS = 200
WATCHERS = 15
OBJECTS = 40
OBJECT_BYTES = 900_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path) as server:
        yield server


def memory_bytes(server: EmbeddedServer) -> int:
    status = Path(f"/proc/{server.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


def connected(server: EmbeddedServer, held: contextlib.ExitStack) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    return held.enter_context(TRUSTING.wrap_socket(plain))


def send_most_of_a_body(connection: ssl.SSLSocket, credentials: str = "") -> None:
    head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: {BODY_BYTES}\r\n{credentials}\r\n"
    piece = b"x" * 65536
    with contextlib.suppress(OSError):
        connection.sendall(head.encode())
        for _ in range(BODY_BYTES // len(piece) - 1):
            connection.sendall(piece)


def is_served(server: EmbeddedServer) -> bool:
    return server.endpoint.request("GET", "/api/v1/nodes")[0] == 200


def test_senders_without_credentials_hold_no_memory(server: EmbeddedServer) -> None:
    assert is_served(server)
    before = memory_bytes(server)
    with contextlib.ExitStack() as held, ThreadPoolExecutor(8) as threads:
        connections = [connected(server, held) for _ in range(SENDERS)]
        sending = threads.map(send_most_of_a_body, connections)
        assert is_served(server)
        list(sending)
        grown = memory_bytes(server) - before
        assert is_served(server)
    print(f"grown by {grown / MEBIBYTE:.0f} MiB")
    assert grown < SENDERS * BODY_BYTES / 20


def test_senders_with_credentials_hold_no_more_than_is_allowed_for_all(
    server: EmbeddedServer,
) -> None:
    assert is_served(server)
    before = memory_bytes(server)
    credentials = f"Authorization: Bearer {server.endpoint.token}\r\n"
    with contextlib.ExitStack() as held, ThreadPoolExecutor(8) as threads:
        connections = [connected(server, held) for _ in range(SENDERS)]
        list(threads.map(lambda each: send_most_of_a_body(each, credentials), connections))
        grown = memory_bytes(server) - before
        assert is_served(server)
    print(f"grown by {grown / MEBIBYTE:.0f} MiB")
    assert grown < SENDERS * BODY_BYTES / 4


@pytest.mark.parametrize("target", [f"{MAPS}?watch=true", MAPS], ids=["watch", "list"])
def test_clients_that_do_not_read_hold_no_copies_of_what_they_asked_for(
    server: EmbeddedServer, target: str
) -> None:
    for number in range(OBJECTS):
        body = {"metadata": {"name": f"m-{number}"}, "data": {"text": "x" * OBJECT_BYTES}}
        assert server.endpoint.request("POST", MAPS, body)[0] == 201
    assert is_served(server)
    before = memory_bytes(server)
    head = f"GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.endpoint.token}"
    with contextlib.ExitStack() as held:
        for _ in range(WATCHERS):
            connected(server, held).sendall(head.encode() + b"\r\n\r\n")
        for _ in range(10):
            assert is_served(server)
        grown = memory_bytes(server) - before
    print(f"grown by {grown / MEBIBYTE:.0f} MiB")
    assert grown < WATCHERS * OBJECTS * OBJECT_BYTES / 5
