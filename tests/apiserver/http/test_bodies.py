"""How many bytes of bodies the server holds at once, for all and for one user."""

from contextlib import AsyncExitStack

import pytest

from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.http.bodies import BODY_LIMIT, SHARE_LIMIT, Bodies, Message, Receive
from plimsoll.apiserver.model.status import ApiError
from plimsoll.runtime.clock import SteppedClock

TENANT = User(name="tenant")
CHUNKED = {"transfer-encoding": "chunked"}


def sending(*chunks: bytes) -> Receive:
    left = list(chunks)

    async def receive() -> Message:
        chunk = left.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(left)}

    return receive


async def held_at_once(bodies: Bodies) -> int:
    """How many bytes the tenant can have the server hold."""
    size = BODY_LIMIT - 1
    async with AsyncExitStack() as held:
        for number in range(100):
            try:
                body = sending(b"x" * size)
                await held.enter_async_context(bodies.read(CHUNKED, body, TENANT))
            except ApiError:
                return number * size
    return 100 * size


async def test_bodies_that_are_too_large_do_not_widen_the_share_of_their_sender() -> None:
    bodies = Bodies(SteppedClock())
    for _ in range(50):
        with pytest.raises(ApiError, match="at most"):
            async with bodies.read(CHUNKED, sending(b"x" * BODY_LIMIT, b"more"), TENANT):
                pass

    assert 0 < await held_at_once(bodies) <= SHARE_LIMIT
