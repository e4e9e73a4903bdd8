import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from grpc import StatusCode

from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.epochs import epoch_metadata, superseded
from plimsoll.wire.csi.errors import DriverError, driver_error
from plimsoll.wire.csi.fenced import FencedCsi
from plimsoll.wire.csi.methods import Method
from plimsoll.wire.csi.transport import Metadata, Permit, permit_always
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
        self.metadata: list[Metadata] = []
        self.refusal: DriverError | None = None
        self.connected = asyncio.Event()
        self.connected.set()

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        del request, within
        await self.connected.wait()
        self.metadata.append(permit())
        self.calls.append(method)
        if self.refusal is not None:
            raise self.refusal
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


def epoch(transitions: int) -> LeaderEpoch:
    made = datetime(2030, 1, 31, 12, tzinfo=UTC)
    return LeaderEpoch(lease="storage/one", lease_created_at=made, transitions=transitions)


async def test_changes_name_the_epoch_of_the_leader_and_questions_do_not() -> None:
    inner, fence = Recording(), Fence(SteppedClock())
    fence.extend(10, epoch(4))
    fenced = FencedCsi(inner, fence)
    for method in (methods.DELETE_VOLUME, methods.GET_CAPACITY):
        await fenced.call(method.name, b"", within=timedelta(seconds=1))
    assert inner.metadata == [epoch_metadata(epoch(4)), {}]


async def test_a_process_without_an_election_names_no_epoch() -> None:
    inner, fence = Recording(), Fence.left_open(SteppedClock())
    await FencedCsi(inner, fence).call(methods.DELETE_VOLUME.name, b"", within=timedelta(seconds=1))
    assert inner.metadata == [{}]


async def test_a_driver_that_knows_a_newer_leader_ends_the_leadership() -> None:
    inner, fence = Recording(), Fence(SteppedClock())
    fence.extend(10, epoch(4))
    refusal = superseded(epoch(4), epoch(5))
    inner.refusal = driver_error(
        refusal.code, method="DeleteVolume", detail=refusal.detail, metadata=refusal.metadata
    )
    fenced = FencedCsi(inner, fence)

    with pytest.raises(FencedError, match="2030-01-31T12:00:00Z/5") as told:
        await fenced.call(methods.DELETE_VOLUME.name, b"", within=timedelta(seconds=1))

    assert told.value.is_certain
    assert not fence.is_open
    await fence.refused()


async def test_any_other_refusal_of_a_driver_is_the_callers_to_judge() -> None:
    inner, fence = Recording(), Fence(SteppedClock())
    fence.extend(10, epoch(4))
    inner.refusal = driver_error(
        StatusCode.FAILED_PRECONDITION, method="DeleteVolume", detail="in use"
    )
    with pytest.raises(DriverError):
        await FencedCsi(inner, fence).call(
            methods.DELETE_VOLUME.name, b"", within=timedelta(seconds=1)
        )
    assert fence.is_open
