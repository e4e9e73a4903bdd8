import asyncio
from datetime import timedelta

import pytest

from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.fence import Fence
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.fenced import FencedCsi
from plimsoll.wire.csi.methods import Method
from plimsoll.wire.csi.transport import Permit, permit_always
from plimsoll.wire.errors import FencedError

EFFECTS = (
    methods.CREATE_VOLUME,
    methods.DELETE_VOLUME,
    methods.CONTROLLER_PUBLISH_VOLUME,
    methods.CONTROLLER_UNPUBLISH_VOLUME,
    methods.CONTROLLER_EXPAND_VOLUME,
    methods.CONTROLLER_MODIFY_VOLUME,
    methods.CREATE_SNAPSHOT,
    methods.DELETE_SNAPSHOT,
    methods.DELETE_NEVER_PUBLISHED,
)
QUESTIONS = (methods.PROBE, methods.GET_PLUGIN_INFO, methods.GET_CAPACITY, methods.LIST_VOLUMES)


class Recording:
    """A driver that is called as soon as it is connected, which it is by default."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.connected = asyncio.Event()
        self.connected.set()

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        del request, within
        await self.connected.wait()
        permit()
        self.calls.append(method)
        return b""

    async def close(self) -> None:
        """There is nothing to let go of."""


@pytest.mark.parametrize("method", EFFECTS, ids=lambda method: method.call)
async def test_a_driver_is_not_called_after_the_lease(method: Method) -> None:  # type: ignore[type-arg]  # any of them
    clock, inner = SteppedClock(), Recording()
    fence = Fence(clock)
    fence.extend(10)
    fenced = FencedCsi(inner, fence)
    await fenced.call(method.name, b"", within=timedelta(seconds=1))
    clock.advance(timedelta(seconds=10))

    with pytest.raises(FencedError):
        await fenced.call(method.name, b"", within=timedelta(seconds=1))

    assert inner.calls == [method.name]


@pytest.mark.parametrize("method", QUESTIONS, ids=lambda method: method.call)
async def test_questions_are_always_allowed(method: Method) -> None:  # type: ignore[type-arg]  # any of them
    inner = Recording()

    await FencedCsi(inner, Fence(SteppedClock())).call(
        method.name, b"", within=timedelta(seconds=1)
    )

    assert inner.calls == [method.name]


async def test_a_call_that_waited_for_its_connection_asks_again_before_it_is_sent() -> None:
    """As when the process is stopped while it connects."""
    clock, inner = SteppedClock(), Recording()
    fence = Fence(clock)
    fence.extend(10)
    inner.connected.clear()
    call = FencedCsi(inner, fence).call(
        methods.DELETE_VOLUME.name, b"", within=timedelta(minutes=1)
    )
    waiting = asyncio.ensure_future(call)
    await settle()
    clock.advance(timedelta(seconds=10))
    inner.connected.set()

    with pytest.raises(FencedError):
        await waiting

    assert inner.calls == []
