"""A bug in a loop of a process is a violation, although the loop is started again."""

from datetime import timedelta
from itertools import count

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.processes.controller.storage.binding import Binding
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.run import RunVerdict, run_scenario
from plimsoll.simulator.scenario.generate import generate
from plimsoll.wire.errors import Failure, KubeError

SEED, LASTING, SETTLING = 4, 60.0, 30.0


def a_short_run() -> RunVerdict:
    whole = generate(SEED)
    actions = tuple(each for each in whole.actions if each.at < LASTING)
    short = msgspec.structs.replace(
        whole, lasting=LASTING, settling=SETTLING, actions=actions, faults=()
    )
    return run_scenario(short)


def fail_now_and_then(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    reconcile, number = Binding.reconcile, count(1)

    async def failing(self: Binding, key: ObjectKey) -> timedelta | None:
        if next(number) % 10 == 0:
            raise error
        return await reconcile(self, key)

    monkeypatch.setattr(Binding, "reconcile", failing)


def failed_loops(verdict: RunVerdict) -> list[str]:
    found = (each for each in verdict.violations if each.invariant is Invariant.NO_FAILED_LOOPS)
    return [each.message for each in found]


def test_without_a_bug_no_loop_fails() -> None:
    assert failed_loops(a_short_run()) == []


def test_a_loop_that_fails_is_told_with_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_now_and_then(monkeypatch, ZeroDivisionError("a planted bug"))

    told = failed_loops(a_short_run())

    assert told
    assert all(each.startswith("controller") for each in told)
    assert all("a planted bug" in each for each in told)


def test_a_server_that_cannot_be_reached_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_now_and_then(monkeypatch, KubeError(Failure.UNAVAILABLE, "down", operation="planted"))

    assert failed_loops(a_short_run()) == []
