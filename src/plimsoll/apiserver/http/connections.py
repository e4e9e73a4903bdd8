"""How many clients may be connected, and which connection is closed first.

A connection belongs to a stranger until a request on it was authorized. Few strangers may be
connected: the one that has been there for longest is closed when another one comes. So no number of
connections without credentials keeps a client out that has them, and none of them takes much.
"""

import asyncio

MOST_CONNECTIONS = 4096
MOST_STRANGERS = 256


class ConnectionLimits:
    def __init__(
        self, most_connections: int = MOST_CONNECTIONS, most_strangers: int = MOST_STRANGERS
    ) -> None:
        self._most_connections = most_connections
        self._most_strangers = most_strangers
        self._strangers: dict[asyncio.Transport, None] = {}
        """In the order in which they came."""
        self._known: set[asyncio.Transport] = set()

    def enter(self, transport: asyncio.Transport) -> None:
        """Cuts the connection of the oldest stranger, which may be this one, if it is too many."""
        self._strangers[transport] = None
        connected = len(self._strangers) + len(self._known)
        if len(self._strangers) > self._most_strangers or connected > self._most_connections:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.abort()

    def recognise(self, transport: asyncio.Transport) -> None:
        """The client has shown credentials."""
        if transport in self._strangers:
            del self._strangers[transport]
            self._known.add(transport)

    def leave(self, transport: asyncio.Transport) -> None:
        self._strangers.pop(transport, None)
        self._known.discard(transport)
