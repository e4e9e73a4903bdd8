"""The demo tells of its attempts what was noted, and nothing else."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from plimsoll.decide.provisioning.intents import Intent, IntentState
from plimsoll.decide.scheduling.binding.groups import Group, GroupedClaim, GroupState
from plimsoll.ui.demo.stage import DemoFailedError
from plimsoll.ui.demo.together import APP, told

FIRST = Group(
    namespace="demo",
    pod=APP,
    pod_uid="p",
    node="node-0",
    attempt=0,
    deadline=datetime(2026, 1, 1, tzinfo=UTC),
    claims=(GroupedClaim("journal", "j"), GroupedClaim("records", "r")),
)
REFUSED = replace(
    FIRST,
    state=GroupState.UNDONE,
    why="rpc error: code = ResourceExhausted desc = no room",
    why_claim="records",
)
SECOND = replace(FIRST, attempt=1, node="node-1", state=GroupState.PUBLISHING)


def journal(state: IntentState, attempt: int = 0) -> Intent:
    claim = {"metadata": {"namespace": "demo", "name": "journal", "uid": "j"}}
    return Intent(driver="d", claim=claim, volume_name="pvc-j", state=state, hold=f"p/{attempt}")


@pytest.mark.parametrize(
    ("states", "became"),
    [
        pytest.param(
            (IntentState.CALLING, IntentState.MADE, IntentState.UNDOING, IntentState.UNDONE),
            "was made and held back, and is deleted again",
            id="made-in-time",
        ),
        pytest.param(
            (IntentState.CALLING, IntentState.UNDOING, IntentState.UNDONE),
            "was being made, and is deleted again",
            id="refused-while-it-was-made",
        ),
        pytest.param((), "was not made yet, and is not", id="refused-before-it-began"),
    ],
)
def test_what_became_of_the_other_volume_is_what_its_provisioner_noted(
    states: tuple[IntentState, ...], became: str
) -> None:
    noted: list[Group | Intent] = [
        FIRST,
        *map(journal, states),
        REFUSED,
        journal(IntentState.MADE, attempt=1),
        SECOND,
    ]
    assert [line.strip() for line in told(noted)] == [
        "attempt 0 on node-0: records is refused (ResourceExhausted)",
        f"journal {became}",
        "attempt 1 on node-1: all volumes are made, then recorded",
    ]


@pytest.mark.parametrize(
    "noted",
    [
        pytest.param((), id="nothing-was-noted"),
        pytest.param((FIRST, replace(FIRST, state=GroupState.PUBLISHING)), id="none-was-refused"),
        pytest.param((FIRST, REFUSED), id="none-succeeded"),
    ],
)
def test_attempts_that_went_otherwise_are_a_failure(noted: tuple[Group, ...]) -> None:
    with pytest.raises(DemoFailedError, match="ended otherwise"):
        list(told(noted))


def test_groups_of_other_pods_are_left_out() -> None:
    other = replace(REFUSED, pod="filler", node="node-9")
    assert not any("node-9" in line for line in told([other, REFUSED, SECOND]))
