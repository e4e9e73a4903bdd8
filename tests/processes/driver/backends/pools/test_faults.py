"""A script makes things go wrong, so many times, and can be changed at any moment."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from grpc import StatusCode

from plimsoll.processes.driver.backends.pools.faults import (
    FILE_NAME,
    Crash,
    Fail,
    Faults,
    FaultyCall,
    Hang,
    Lie,
    When,
)
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.wire.csi.errors import CsiStatusError

BEFORE, AFTER = When


def write(directory: Path, *script: dict[str, object]) -> None:
    (directory / FILE_NAME).write_text(yaml.safe_dump(list(script)))


async def code_of(
    faults: Faults, call: FaultyCall = FaultyCall.CREATE, pool: str = "a"
) -> StatusCode | None:
    try:
        await faults.strike(call, [pool], BEFORE)
    except CsiStatusError as refusal:
        return refusal.code
    return None


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


async def test_the_next_calls_fail_and_the_one_after_does_not(
    tmp_path: Path, clock: SteppedClock
) -> None:
    write(tmp_path, {"call": "CreateVolume", "do": "fail", "code": "UNAVAILABLE", "times": 2})
    faults = Faults(tmp_path, clock)
    assert await code_of(faults, FaultyCall.DELETE) is None
    codes = [await code_of(faults) for _ in range(3)]
    assert codes == [StatusCode.UNAVAILABLE, StatusCode.UNAVAILABLE, None]


async def test_what_was_used_up_stays_so_after_a_restart_until_the_script_changes(
    tmp_path: Path, clock: SteppedClock
) -> None:
    write(tmp_path, {"call": "CreateVolume", "do": "fail"})
    assert await code_of(Faults(tmp_path, clock)) is StatusCode.INTERNAL
    faults = Faults(tmp_path, clock)
    assert await code_of(faults) is None
    write(tmp_path, {"call": "CreateVolume", "do": "fail", "code": "ABORTED", "times": 0})
    assert {await code_of(faults) for _ in range(5)} == {StatusCode.ABORTED}
    (tmp_path / FILE_NAME).unlink()
    assert await code_of(faults) is None


async def test_a_rule_for_a_pool_leaves_the_others_alone(clock: SteppedClock) -> None:
    faults = Faults(None, clock)
    faults.set(Fail(call=FaultyCall.CREATE, pool="b"), Lie(pool="b", factor=0.5))
    assert await code_of(faults, pool="a") is None
    assert await code_of(faults, pool="b") is StatusCode.INTERNAL
    assert (faults.told_bytes("a", 10), faults.told_bytes("b", 10)) == (10, 5)


async def test_a_call_hangs_until_the_script_changes(tmp_path: Path, clock: SteppedClock) -> None:
    write(tmp_path, {"call": "CreateVolume", "do": "hang"})
    hanging = asyncio.ensure_future(code_of(Faults(tmp_path, clock)))
    await clock.run(timedelta(minutes=1))
    assert not hanging.done()
    write(tmp_path)
    await clock.run(timedelta(seconds=1))
    assert hanging.done()


async def test_a_call_hangs_for_so_long(clock: SteppedClock) -> None:
    faults = Faults(None, clock)
    faults.set(Hang(call=FaultyCall.CREATE, seconds=30))
    hanging = asyncio.ensure_future(code_of(faults))
    await clock.run(timedelta(seconds=29))
    assert not hanging.done()
    await clock.run(timedelta(seconds=2))
    assert hanging.done()


async def test_a_crash_comes_after_the_effect_unless_told_otherwise(clock: SteppedClock) -> None:
    crashes: list[str] = []
    faults = Faults(None, clock, crash=lambda: crashes.append("crash"))
    faults.set(Crash(call=FaultyCall.CREATE))
    await faults.strike(FaultyCall.CREATE, ["a"], BEFORE)
    assert crashes == []
    await faults.strike(FaultyCall.CREATE, ["a"], AFTER)
    assert crashes == ["crash"]


@pytest.mark.parametrize(
    "text",
    ["- {call: Nothing, do: fail}", "- {call: CreateVolume, do: dance}", "- [", "- {do: fail}"],
)
async def test_a_script_that_cannot_be_read_is_no_secret(
    text: str, tmp_path: Path, clock: SteppedClock
) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(CsiStatusError, match=FILE_NAME):
        await Faults(tmp_path, clock).strike(FaultyCall.CREATE, ["a"], BEFORE)


async def test_a_code_that_does_not_exist_is_said(clock: SteppedClock) -> None:
    faults = Faults(None, clock)
    faults.set(Fail(call=FaultyCall.CREATE, code="NONSENSE"))
    with pytest.raises(CsiStatusError, match="NONSENSE is no code"):
        await faults.strike(FaultyCall.CREATE, ["a"], BEFORE)
    await settle()
