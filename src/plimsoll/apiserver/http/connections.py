"""How many clients may be connected, and which connection is closed first.

A connection belongs to a stranger until a request on it was authorized. Few strangers may be
connected: the one that has been there for longest is closed when another one comes. So no number of
connections without credentials keeps a client out that has them, and none of them takes much. Nor
can one user take them all: a share is left for others, and administrators have no such limit.
"""

import asyncio
from collections import Counter

from plimsoll.apiserver.model.status import ApiError

MOST_CONNECTIONS = 4096
MOST_STRANGERS = 256
MOST_OF_A_USER = 1024


class TooManyConnectionsError(ApiError):
    """Ends the connection: one that stayed would be of a stranger, and push out others."""

    def __init__(self) -> None:
        super().__init__(
            429,
            "TooManyRequests",
            "too many connections of yours are open: close some, and try again in a second",
            {"retryAfterSeconds": 1},
        )


class ConnectionLimits:
    def __init__(
        self,
        most_connections: int = MOST_CONNECTIONS,
        most_strangers: int = MOST_STRANGERS,
        most_of_a_user: int = MOST_OF_A_USER,
    ) -> None:
        self._most_connections = most_connections
        self._most_strangers = most_strangers
        self._most_of_a_user = most_of_a_user
        self._strangers: dict[asyncio.Transport, None] = {}
        """In the order in which they came."""
        self._known: dict[asyncio.Transport, str] = {}
        """By connection, the user that it belongs to."""
        self._number_by_user: Counter[str] = Counter()

    def enter(self, transport: asyncio.Transport) -> None:
        """Cuts the connection of the oldest stranger, which may be this one, if it is too many."""
        self._strangers[transport] = None
        connected = len(self._strangers) + len(self._known)
        if len(self._strangers) > self._most_strangers or connected > self._most_connections:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.abort()

    def recognise(self, transport: asyncio.Transport, user: str = "") -> bool:
        """The client has shown the credentials of the user; empty for administrators.

        False when the user has too many connections: the client is to be sent away.
        """
        if transport in self._strangers:
            if user and self._number_by_user[user] >= self._most_of_a_user:
                return False
            del self._strangers[transport]
            self._known[transport] = user
            self._number_by_user[user] += 1
        return True

    def leave(self, transport: asyncio.Transport) -> None:
        self._strangers.pop(transport, None)
        user = self._known.pop(transport, None)
        if user is not None:
            self._number_by_user[user] -= 1
            if not self._number_by_user[user]:
                del self._number_by_user[user]
