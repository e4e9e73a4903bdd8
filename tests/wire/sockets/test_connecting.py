import socket
import ssl
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from plimsoll.wire.sockets.connecting import told

WHERE: Any = SimpleNamespace(host="api", port=443, ssl=ssl.create_default_context())


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        pytest.param(
            ConnectionRefusedError(111, "Connect call failed"),
            "cannot connect: connection refused, no program listens there",
            id="refused",
        ),
        pytest.param(
            socket.gaierror(-2, "Name or service not known"),
            "cannot connect: Name or service not known",
            id="no-such-host",
        ),
        pytest.param(OSError("reset"), "cannot connect: reset", id="without-a-number"),
    ],
)
def test_a_server_that_is_not_reached_is_told_without_objects_of_memory(
    cause: OSError, text: str
) -> None:
    assert told(aiohttp.ClientConnectorError(WHERE, cause)) == text


def test_other_failures_are_told_as_they_are_and_never_by_nothing() -> None:
    assert told(ValueError("bad line")) == "bad line"
    assert told(TimeoutError()) == "TimeoutError"
