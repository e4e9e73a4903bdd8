"""Bodies of requests, read within limits: of size, of time, and of memory for all of them together.

A body is read only after its sender was authorized.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.model.status import ApiError
from plimsoll.runtime.clock import Clock

BODY_LIMIT = 3 * 1024 * 1024
BODIES_LIMIT = 64 * 1024 * 1024
"""For the bodies of all requests that are being read or worked on."""
SHARE_LIMIT = 16 * 1024 * 1024
"""The same for one user who is no administrator."""
BODY_TIME = timedelta(seconds=60)
DISCARDED_LIMIT = 2 * BODY_LIMIT
DISCARD_TIME = timedelta(seconds=0.5)
"""How much is taken of a body that was refused, and for how long, before the connection ends."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class DisconnectedError(Exception):
    """The client went away before it had sent all of its request."""


def is_announced(headers: Mapping[str, str]) -> bool:
    return headers.get("content-length", "") not in ("", "0") or "transfer-encoding" in headers


def _too_large() -> ApiError:
    return ApiError(
        413,
        "RequestEntityTooLarge",
        f"the body of a request may have at most {BODY_LIMIT} bytes",
        {},
    )


def _too_many() -> ApiError:
    return ApiError(
        429,
        "TooManyRequests",
        "the bodies of other requests fill the server's memory: try again in a second",
        {"retryAfterSeconds": 1},
    )


def _too_slow() -> ApiError:
    seconds = BODY_TIME.total_seconds()
    return ApiError(
        408, "Timeout", f"the body of the request did not arrive within {seconds:.0f} seconds", {}
    )


class Bodies:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held_bytes = 0
        self._shares: Counter[str] = Counter()
        """Bytes held by user, without administrators."""

    @asynccontextmanager
    async def read(
        self, headers: Mapping[str, str], receive: Receive, user: User
    ) -> AsyncIterator[bytes]:
        """The whole body, which counts for as long as the block lasts.

        Raises ApiError for what is too large, too slow or too much, and DisconnectedError.
        """
        chunks: list[bytes] = []
        try:
            await self._read(headers, receive, chunks, "" if user.is_admin else user.name)
            yield chunks[0] if len(chunks) == 1 else b"".join(chunks)
        finally:
            self._let_go(sum(map(len, chunks)), user)

    async def discard(self, receive: Receive) -> None:
        """Take what a client still sends although it has its answer, and forget it.

        Many clients read nothing before they have sent everything. One that is cut off meanwhile
        never sees its answer: TCP throws away what was received and not read.
        """
        left = DISCARDED_LIMIT
        with suppress(TimeoutError):
            async with self._clock.timeout(DISCARD_TIME):
                while left > 0:
                    message = await receive()
                    if not message.get("more_body", False):
                        return
                    left -= len(message["body"])

    def _let_go(self, size: int, user: User) -> None:
        self._held_bytes -= size
        if size and not user.is_admin:
            self._shares[user.name] -= size
            if not self._shares[user.name]:
                del self._shares[user.name]

    async def _read(
        self, headers: Mapping[str, str], receive: Receive, chunks: list[bytes], sharer: str
    ) -> None:
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > BODY_LIMIT:
            raise _too_large()
        if not is_announced(headers):
            return
        try:
            async with self._clock.timeout(BODY_TIME):
                while await self._read_chunk(receive, chunks, sharer):
                    pass
        except TimeoutError as error:
            raise _too_slow() from error

    async def _read_chunk(self, receive: Receive, chunks: list[bytes], sharer: str) -> bool:
        """Whether there is more to come."""
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        chunk: bytes = message.get("body", b"")
        self._held_bytes += len(chunk)
        chunks.append(chunk)
        if sharer:
            self._shares[sharer] += len(chunk)
        if sum(map(len, chunks)) > BODY_LIMIT:
            raise _too_large()
        if self._held_bytes > BODIES_LIMIT or self._shares[sharer] > SHARE_LIMIT:
            raise _too_many()
        return bool(message.get("more_body"))
