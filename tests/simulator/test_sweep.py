"""Many seeds: every run ends with an outcome, and the last line counts them."""

import signal
import subprocess
import sys

import pytest
from tools.sim.tally import Tally, ranges, told
from tools.sim.workers import Crash, Run, outcome

from plimsoll.simulator.invariants import Invariant, Violation
from plimsoll.simulator.run import RunVerdict
from plimsoll.simulator.scenario.generate import generate
from tests.interrupts import interruptible


def a_verdict(seed: int, *violations: Violation, **faults: int) -> RunVerdict:
    return RunVerdict(
        seed=seed,
        violations=violations,
        digest="",
        virtual_seconds=1800.0,
        steps=1,
        faults=dict(faults),
    )


def a_violation(*, is_known: bool = False) -> Violation:
    message = "zonal.sim has pvc-1 (Ready), in no object"
    return Violation(invariant=Invariant.NO_LEAKS, at=300.0, message=message, is_known=is_known)


def fail() -> None:
    raise RuntimeError("a bug of the simulation")


def hang() -> None:
    while True:
        pass


def test_the_last_line_counts_seeds_hours_faults_and_violations() -> None:
    tally = Tally()
    tally.add(a_verdict(1, cut=2, pause=1))
    tally.add(a_verdict(2, a_violation(is_known=True), cut=1))

    assert str(tally) == (
        "2 seeds (0 with takeovers), 1.0 virtual hours, 4 faults (cut 3, pause 1), "
        "0 violations (1 known)"
    )
    assert tally.first_failing is None


def test_the_first_failing_seed_is_the_lowest_one() -> None:
    tally = Tally()
    for seed in (9, 4, 7):
        tally.add(a_verdict(seed, a_violation()))

    assert tally.first_failing is not None
    assert told(tally.first_failing) == (
        "seed 4: 300.000 s: every volume that a driver made is recorded: "
        "zonal.sim has pvc-1 (Ready), in no object"
    )


def test_a_run_without_a_verdict_fails_and_is_counted() -> None:
    tally = Tally()
    tally.add(Crash(seed=3, kind="hang", message="it took more than 1 s of processor time"))

    assert str(tally).endswith("0 violations (0 known), 1 run without a verdict")
    assert tally.first_failing is not None


@pytest.mark.parametrize(
    ("plant", "kind", "message"),
    [
        pytest.param(fail, "RuntimeError", "a bug of the simulation", id="an exception"),
        pytest.param(hang, "hang", "more than 1 s of processor time", id="a run without an end"),
    ],
)
def test_a_seed_that_raises_or_hangs_is_an_outcome_like_any_other(
    plant: object, kind: str, message: str
) -> None:
    assert callable(plant)

    found = outcome(Run(seed=5, plant=plant, cpu_seconds=1))

    assert isinstance(found, Crash)
    assert (found.seed, found.kind) == (5, kind)
    assert message in found.message


def test_of_many_equal_violations_the_first_are_told() -> None:
    lines = told(a_verdict(4, *(a_violation() for _ in range(1000)))).splitlines()

    assert len(lines) == 4
    assert lines[-1] == "seed 4: every volume that a driver made is recorded: 997 more"


def test_seeds_are_told_as_ranges() -> None:
    assert ranges([3, 1, 2, 7, 9, 10]) == "seeds 1-3, 7, 9-10"
    assert ranges([]) == "no seeds"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_all_runs_and_what_is_left_is_told(number: signal.Signals) -> None:
    sweep_of = ("-m", "tools.sim", "run", "--seeds", "1000", "--first", "7")
    command = interruptible(sys.executable, *sweep_of)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sweep:
        assert sweep.stdout is not None
        assert sweep.stdout.readline().startswith("seeds 7-1006, ")
        sweep.send_signal(number)
        rest = sweep.stdout.read()  # ends when the last worker has gone, for each has it open

    assert sweep.returncode == 130
    assert "done are no seeds; go on with: make sim FIRST=7 SEEDS=1000" in rest


def test_seeds_with_a_takeover_can_be_chosen_and_taken_up_again() -> None:
    first, second = [each for each in range(1, 100) if generate(each).cluster.takeover][:2]
    sweep_of = ("-m", "tools.sim", "run", "--seeds", "2", "--first", "1", "--takeovers")
    command = interruptible(sys.executable, *sweep_of)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sweep:
        assert sweep.stdout is not None
        assert sweep.stdout.readline().startswith(f"{ranges([first, second])}, ")
        sweep.send_signal(signal.SIGINT)
        rest = sweep.stdout.read()

    assert f"go on with: make sim FIRST={first} SEEDS=2 SIM=--takeovers" in rest
