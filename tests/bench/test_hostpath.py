"""The benchmark that fills storage to the last byte: on a small cluster, and how it is told."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from bench.hostpath.counters import Counters
from bench.hostpath.play import Played, play
from bench.hostpath.plot import svg
from bench.hostpath.report import is_promise_kept, last_line, table
from bench.hostpath.workload import (
    APART,
    COMPATIBLE,
    DEFAULT,
    LOADS,
    UNTRACKED,
    Load,
    Setting,
    settings_of,
)

ROOT = Path(__file__).parents[2]
SMALL = Load(name="S", nodes=2, pods_per_node=3, volume_mib=1024)
TIME_LIMIT = 120.0
SVG = "{http://www.w3.org/2000/svg}"


def played(setting: Setting, *, failed: int = 0, running: int = SMALL.pods) -> Played:
    cost = Counters(
        requests=60,
        writes=30,
        record_writes=15,
        cpu_seconds=0.6,
        creates=6,
        failed_creates=failed,
    )
    return Played(
        load=SMALL,
        setting=setting,
        running_at=tuple(float(number) for number in range(1, running + 1)),
        seconds=float(running),
        cost=cost,
    )


def test_by_the_default_policy_the_last_byte_is_taken_without_a_failed_call() -> None:
    told: list[str] = []

    found = play(SMALL, DEFAULT, TIME_LIMIT, told.append)

    assert found.is_complete
    assert (found.failed_creates, found.cost.creates) == (0, SMALL.pods)
    assert found.cost.cpu_seconds > 0
    assert found.cost.record_writes >= 2 * SMALL.pods, "an intent comes and goes with each volume"
    assert found.cost.requests >= found.cost.writes > SMALL.pods


def test_pools_have_room_for_all_volumes_and_for_no_other() -> None:
    for load in LOADS.values():
        volumes = load.pods * load.claims_per_pod
        assert load.nodes * load.pool_bytes == volumes * load.volume_mib * 2**20


def test_the_scale_changes_the_pods_of_a_node_and_leaves_at_least_two() -> None:
    assert replace(LOADS["B"], pods_per_node=10) == LOADS["B"].scaled(0.1)
    assert LOADS["C"].scaled(0.001).pods_per_node == 2


def test_pods_with_two_claims_are_played_with_groups_beside_without() -> None:
    assert settings_of(LOADS["D"], (DEFAULT, COMPATIBLE)) == (DEFAULT, APART)
    assert settings_of(LOADS["D"], (UNTRACKED,)) == ()


def test_the_last_line_sums_failed_creates_by_setting() -> None:
    all_of_them = [
        played(DEFAULT),
        played(COMPATIBLE, failed=3),
        played(UNTRACKED, failed=5),
        played(COMPATIBLE, failed=4),
    ]

    assert last_line(all_of_them) == "failed creates: default 0, compatible 7, untracked 5"


def test_a_setting_that_was_not_played_has_no_number() -> None:
    assert last_line([played(DEFAULT)]) == "failed creates: default 0, compatible -, untracked -"


@pytest.mark.parametrize(
    ("found", "is_kept"),
    [
        pytest.param(played(DEFAULT), True, id="all-run"),
        pytest.param(played(DEFAULT, failed=1), False, id="a-call-failed"),
        pytest.param(played(DEFAULT, running=5), False, id="a-pod-does-not-run"),
        pytest.param(played(COMPATIBLE, failed=1, running=5), True, id="only-promised-by-default"),
    ],
)
def test_the_exit_code_judges_the_default_policy_alone(found: Played, *, is_kept: bool) -> None:
    assert is_promise_kept([found]) is is_kept


def test_the_table_tells_how_many_pods_run_and_what_each_of_them_costs() -> None:
    row = list(table([played(COMPATIBLE, failed=2, running=5)]))[-1].split()

    assert row[-10:] == ["5", "of", "6", "5.0", "1.0", "2", "12.0", "6.0", "3.0", "120.0"]


def test_the_plot_has_a_panel_for_each_workload_and_a_line_for_each_setting() -> None:
    other = replace(played(DEFAULT), load=replace(SMALL, name="T"), running_at=())
    picture = ET.fromstring(svg([played(DEFAULT), played(COMPATIBLE), other]))  # noqa: S314 - ours

    lines = [len(panel.findall(f"{SVG}polyline")) for panel in picture.findall(f"{SVG}g")]
    assert lines == [2, 1]


@pytest.mark.parametrize("options", [("--only", "Z"), ("--settings", "fast"), ("--scale", "0")])
def test_bad_options_are_refused_before_anything_is_started(options: tuple[str, str]) -> None:
    command = [sys.executable, "-m", "bench.hostpath", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    assert done.returncode == 2
    assert options[0] in done.stderr
    assert "starting" not in done.stderr
