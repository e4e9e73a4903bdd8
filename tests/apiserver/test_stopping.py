"""A server that is asked to stop does, whichever clients are still connected."""

import socket
import ssl
import time
from contextlib import ExitStack
from pathlib import Path

from tests.servers import TRUSTING, EmbeddedServer


def silent_watch(server: EmbeddedServer) -> ssl.SSLSocket:
    """A client that asks for a watch and then never reads, nor says goodbye."""
    plain = socket.create_connection(("127.0.0.1", server.port))
    connection = TRUSTING.wrap_socket(plain)
    head = (
        "GET /api/v1/pods?watch=1 HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {server.endpoint.token}",
    )
    connection.sendall("".join(f"{line}\r\n" for line in (*head, "")).encode())
    return connection


def test_open_watches_do_not_hold_up_the_end(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path)
    with ExitStack() as open_watches, server:
        for _ in range(20):
            open_watches.enter_context(silent_watch(server))
        began = time.monotonic()
        assert server.stop() == 0
        # Uvicorn alone would wait five seconds, and then complain.
        assert time.monotonic() - began < 4
        assert "ERROR" not in server.last_words()
