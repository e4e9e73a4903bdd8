"""Lost events are counted one by one and told together."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta

import pytest

from plimsoll.api.meta import ObjectReference
from plimsoll.decide.plan import EventType
from plimsoll.enact.event_correlation import Notice
from plimsoll.enact.event_losses import REPORT_EVERY, Loss, Losses
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.metrics import Metrics

POD = ObjectReference(kind="Pod", namespace="default", name="db-0")
NOTICE = Notice(
    regarding=POD,
    type=EventType.NORMAL,
    reason="Scheduled",
    message="It was.",
    at=SteppedClock().now(),
)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def losses(clock: SteppedClock) -> AsyncIterator[Losses]:
    made = Losses(clock, Metrics())
    telling = asyncio.ensure_future(made.run())
    await settle()
    yield made
    telling.cancel()
    with suppress(asyncio.CancelledError):
        await telling


def counts(told: pytest.LogCaptureFixture) -> list[int]:
    return [record.__dict__["count"] for record in told.records]


async def test_the_first_loss_is_told_at_once(
    losses: Losses, caplog: pytest.LogCaptureFixture
) -> None:
    losses.add(NOTICE, Loss.REFUSED)
    await settle()

    assert counts(caplog) == [1]
    assert caplog.records[0].levelno == logging.WARNING
    assert caplog.records[0].__dict__["object"] == "Pod default/db-0"


async def test_a_flood_is_one_line_in_a_period(
    losses: Losses, clock: SteppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    losses.add(NOTICE, Loss.QUEUE_FULL)
    await settle()
    for _ in range(500):
        losses.add(NOTICE, Loss.QUEUE_FULL)
    await settle()
    assert counts(caplog) == [1]

    clock.advance(REPORT_EVERY)
    await settle()

    assert counts(caplog) == [1, 500]
    assert caplog.records[1].__dict__["causes"] == "queue_full 500"


async def test_without_losses_nothing_is_told(
    losses: Losses, clock: SteppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(losses, Losses)
    clock.advance(timedelta(hours=1))
    await settle()

    assert caplog.records == []


async def test_what_was_not_told_yet_is_told_at_the_end(
    clock: SteppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    losses = Losses(clock, Metrics())
    telling = asyncio.ensure_future(losses.run())
    losses.add(NOTICE, Loss.TOO_MANY)
    await settle()
    losses.add(NOTICE, Loss.TOO_MANY)
    losses.add(NOTICE, Loss.REFUSED)

    telling.cancel()
    with suppress(asyncio.CancelledError):
        await telling

    assert counts(caplog) == [1, 2]
    assert caplog.records[1].__dict__["causes"] == "refused 1, too_many 1"
