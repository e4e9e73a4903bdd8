"""Connections without credentials push out each other, never those that have them."""

from pathlib import Path

import pytest

from plimsoll.apiserver.http import connections as limits
from plimsoll.apiserver.http.connections import ConnectionLimits
from tests.apiserver.sockets import listening


class Connection:
    """As much of a transport as the limits look at."""

    def __init__(self) -> None:
        self.is_cut = False

    def abort(self) -> None:
        self.is_cut = True


def entered(limits: ConnectionLimits, number: int) -> list[Connection]:
    connections = [Connection() for _ in range(number)]
    for connection in connections:
        limits.enter(connection)  # type: ignore[arg-type]
    return connections


def test_the_oldest_stranger_leaves_first() -> None:
    strangers = entered(ConnectionLimits(most_strangers=3), 5)
    assert [stranger.is_cut for stranger in strangers] == [True, True, False, False, False]


def test_a_known_client_stays_however_many_strangers_come() -> None:
    limits = ConnectionLimits(most_strangers=3)
    [known] = entered(limits, 1)
    limits.recognise(known)  # type: ignore[arg-type]
    entered(limits, 100)
    assert not known.is_cut


def test_no_unknown_client_comes_in_when_known_clients_have_all_the_room() -> None:
    limits = ConnectionLimits(most_connections=2, most_strangers=2)
    known = entered(limits, 2)
    for client in known:
        limits.recognise(client)  # type: ignore[arg-type]
    [late] = entered(limits, 1)
    assert late.is_cut
    limits.leave(known[0])  # type: ignore[arg-type]
    [next_one] = entered(limits, 1)
    assert not next_one.is_cut


async def test_a_client_is_served_while_strangers_fill_the_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits.ConnectionLimits.__init__, "__defaults__", (100, 4, 100))
    async with listening(tmp_path) as server, server.connect() as known:
        await known.send(server.request("GET", "/api/v1/nodes"))
        assert await known.status() == 200
        tls = server.tls()
        async with server.connect(tls) as first:
            for _ in range(4):
                async with server.connect(tls) as stranger:
                    await stranger.send(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
                    assert await stranger.status() == 200
            del first
        await known.send(server.request("GET", "/api/v1/nodes"))
        assert await known.status() == 200
