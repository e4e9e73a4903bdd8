"""Parts in one event loop: how they begin, fail, come back and end."""

import asyncio
import logging
from datetime import timedelta
from random import Random

import pytest

from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.supervise import Supervision
from plimsoll.ui.parts.assembly import Assembly, Part, PartLife, begun_within
from plimsoll.wire.health import OK, ServedPage


class Ledger:
    """What parts did, in order."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.failing: dict[str, asyncio.Future[None]] = {}

    def part(self, name: str) -> Part:
        async def live(life: PartLife) -> None:
            number = sum(line.startswith(f"{name} begins") for line in self.said) + 1
            self.said.append(f"{name} begins")
            life.pages = {"/metrics": lambda: ServedPage(f"{name} {number}".encode())}
            life.begin()
            self.failing[name] = asyncio.get_running_loop().create_future()
            try:
                await self.failing[name]
            finally:
                self.said.append(f"{name} ends")

        return live

    def fail(self, name: str, error: Exception) -> None:
        self.failing[name].set_exception(error)


class GivenUpError(Exception):
    """A part ends in a way that is no bug."""


def an_assembly(ledger: Ledger, clock: SteppedClock, *names: str) -> Assembly:
    supervision = Supervision(clock=clock, chance=Random(0), expected=(GivenUpError,))
    return Assembly({name: ledger.part(name) for name in names}, supervision)


async def ended(task: "asyncio.Future[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_part_that_fails_is_started_again_and_the_others_go_on() -> None:
    ledger, clock = Ledger(), SteppedClock()
    assembly = an_assembly(ledger, clock, "scheduler", "controller")
    task = asyncio.ensure_future(assembly.run(lambda: ledger.said.append("all begun")))
    await settle()
    ledger.fail("scheduler", RuntimeError("a bug"))
    await settle()
    await clock.run(timedelta(seconds=2))

    assert ledger.said == [
        *("scheduler begins", "controller begins", "all begun"),
        *("scheduler ends", "scheduler begins"),
    ]
    assert assembly.ready() is OK
    await ended(task)


async def test_pages_are_those_of_the_present_life() -> None:
    ledger, clock = Ledger(), SteppedClock()
    assembly = an_assembly(ledger, clock, "scheduler")
    pages = assembly.pages("scheduler")
    assert pages.get("/metrics") is None, "nothing to show before it lives"
    task = asyncio.ensure_future(assembly.run(lambda: None))
    await settle()
    assert pages["/metrics"]().body == b"scheduler 1"
    ledger.fail("scheduler", RuntimeError("a bug"))
    await clock.run(timedelta(seconds=2))
    assert pages["/metrics"]().body == b"scheduler 2"
    await ended(task)


async def test_a_failure_before_all_parts_have_begun_ends_all_and_is_raised() -> None:
    ledger, clock = Ledger(), SteppedClock()

    async def misconfigured(life: PartLife) -> None:
        raise ValueError(f"--repair: no such rule {life.has_begun}")

    supervision = Supervision(clock=clock, chance=Random(0))
    parts = {"scheduler": ledger.part("scheduler"), "controller": misconfigured}
    with pytest.raises(ValueError, match="no such rule"):
        await Assembly(parts, supervision).run(lambda: ledger.said.append("all begun"))
    assert ledger.said == ["scheduler begins", "scheduler ends"]


async def test_a_part_that_waits_counts_as_begun_after_the_limit() -> None:
    ledger, clock = Ledger(), SteppedClock()

    async def waits(life: PartLife) -> None:
        del life
        await asyncio.Event().wait()

    parts = {
        "scheduler": begun_within(timedelta(seconds=5), waits, clock),
        "controller": ledger.part("controller"),
    }
    supervision = Supervision(clock=clock, chance=Random(0))
    assembly = Assembly(parts, supervision)
    task = asyncio.ensure_future(assembly.run(lambda: ledger.said.append("all begun")))
    await clock.run(timedelta(seconds=4))
    assert ledger.said == ["controller begins"]
    assert assembly.ready().body == b"not begun yet: scheduler\n"
    await clock.run(timedelta(seconds=2))
    assert ledger.said == ["controller begins", "all begun"]
    await ended(task)


async def test_an_end_that_is_no_bug_does_not_end_a_start() -> None:
    ledger, clock = Ledger(), SteppedClock()
    lives: list[PartLife] = []

    async def lost_once(life: PartLife) -> None:
        lives.append(life)
        if len(lives) == 1:
            raise GivenUpError("the driver is lost")
        life.begin()
        await asyncio.Event().wait()

    supervision = Supervision(clock=clock, chance=Random(0), expected=(GivenUpError,))
    parts = {"provisioner": lost_once, "controller": ledger.part("controller")}
    assembly = Assembly(parts, supervision)
    task = asyncio.ensure_future(assembly.run(lambda: ledger.said.append("all begun")))
    await clock.run(timedelta(seconds=2))
    assert ledger.said == ["controller begins", "all begun"]
    await ended(task)


async def test_parts_end_in_the_reverse_order_of_their_start() -> None:
    ledger, clock = Ledger(), SteppedClock()
    assembly = an_assembly(ledger, clock, "driver", "node-0", "node-1")
    task = asyncio.ensure_future(assembly.run(lambda: None))
    await settle()
    await ended(task)
    assert ledger.said[-3:] == ["node-1 ends", "node-0 ends", "driver ends"]


async def test_an_end_that_is_no_bug_is_told_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    ledger, clock = Ledger(), SteppedClock()
    task = asyncio.ensure_future(an_assembly(ledger, clock, "provisioner").run(lambda: None))
    await settle()
    ledger.fail("provisioner", GivenUpError("the driver is lost"))
    await clock.run(timedelta(seconds=2))
    assert [(r.levelno, r.exc_info) for r in caplog.records] == [(logging.INFO, None)]
    assert ledger.said[-1] == "provisioner begins"
    await ended(task)
