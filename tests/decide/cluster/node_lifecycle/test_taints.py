"""Which taints a node gets by its conditions."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from plimsoll.api.core import Node, Taint
from plimsoll.api.meta import Condition
from plimsoll.decide.cluster.node_lifecycle.taints import EvictionLeave, decide_taints
from plimsoll.decide.plan import NOTHING, Patch
from tests.builders import a_node

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
PREFIX = "node.kubernetes.io/"
MINE = Taint(key="team", value="a", effect="NoExecute")


def taint(name: str, effect: str) -> Taint:
    return Taint(key=PREFIX + name, effect=effect, time_added=NOW)


def in_state(taints: tuple[Taint, ...] = (), *, unschedulable: bool = False, **is_: str) -> Node:
    conditions = tuple(Condition(type=type_, status=status) for type_, status in is_.items())
    node = a_node(taints=taints)
    return structs.replace(
        node,
        spec=structs.replace(node.spec, unschedulable=unschedulable),
        status=structs.replace(node.status, conditions=conditions),
    )


def taints_after(node: Node, leave: EvictionLeave) -> list[str]:
    """As `key:effect`, those of Kubernetes without their prefix."""
    plan = decide_taints(node, leave, NOW)
    if plan == NOTHING:
        taints = [{"key": taint.key, "effect": taint.effect} for taint in node.spec.taints]
    else:
        (patch,) = plan.writes
        assert isinstance(patch, Patch)
        taints = patch.patch["spec"]["taints"] or []
    return [f"{each['key'].removeprefix(PREFIX)}:{each['effect']}" for each in taints]


UNREACHABLE = (taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute"))


@pytest.mark.parametrize(
    ("node", "leave", "taints"),
    [
        pytest.param(in_state(Ready="True"), EvictionLeave.WAITING, [], id="ready"),
        pytest.param(
            in_state((MINE, *UNREACHABLE), Ready="True"),
            EvictionLeave.WAITING,
            ["team:NoExecute"],
            id="ready-again",
        ),
        pytest.param(
            in_state(Ready="Unknown"),
            EvictionLeave.WAITING,
            ["unreachable:NoSchedule"],
            id="silent-and-waiting-for-leave",
        ),
        pytest.param(
            in_state(Ready="Unknown"),
            EvictionLeave.GRANTED,
            ["unreachable:NoExecute", "unreachable:NoSchedule"],
            id="silent",
        ),
        pytest.param(
            in_state(Ready="False"),
            EvictionLeave.GRANTED,
            ["not-ready:NoExecute", "not-ready:NoSchedule"],
            id="not-ready",
        ),
        pytest.param(
            in_state(UNREACHABLE, Ready="False"),
            EvictionLeave.WAITING,
            ["not-ready:NoExecute", "not-ready:NoSchedule"],
            id="silent-and-then-not-ready-needs-no-new-leave",
        ),
        pytest.param(
            in_state(UNREACHABLE, Ready="Unknown"),
            EvictionLeave.HALTED,
            ["unreachable:NoSchedule"],
            id="no-node-is-ready",
        ),
        pytest.param(
            in_state(Ready="True", DiskPressure="True", unschedulable=True),
            EvictionLeave.WAITING,
            ["disk-pressure:NoSchedule", "unschedulable:NoSchedule"],
            id="pressure-and-cordoned",
        ),
        pytest.param(
            in_state((taint("not-ready", "NoSchedule"),)),
            EvictionLeave.WAITING,
            ["not-ready:NoSchedule"],
            id="registered-and-not-reported-yet",
        ),
        pytest.param(
            in_state((taint("not-ready", "NoSchedule"),), Ready="True"),
            EvictionLeave.WAITING,
            [],
            id="registered-and-ready",
        ),
    ],
)
def test_taints_say_what_the_conditions_say(
    node: Node, leave: EvictionLeave, taints: list[str]
) -> None:
    assert taints_after(node, leave) == taints


def test_taints_that_stay_keep_the_time_at_which_they_were_added() -> None:
    early = datetime(2024, 1, 1, 11, tzinfo=UTC)
    old = Taint(key=PREFIX + "unreachable", effect="NoExecute", time_added=early)
    (patch,) = decide_taints(in_state((old,), Ready="Unknown"), EvictionLeave.WAITING, NOW).writes
    assert isinstance(patch, Patch)
    assert patch.patch["spec"]["taints"] == [
        {
            "key": PREFIX + "unreachable",
            "effect": "NoExecute",
            "timeAdded": "2024-01-01T11:00:00Z",
        },
        {
            "key": PREFIX + "unreachable",
            "effect": "NoSchedule",
            "timeAdded": "2024-01-01T12:00:00Z",
        },
    ]


KEYS = ("team", "gpu", PREFIX + "out-of-service")


@given(
    taints=st.lists(
        st.builds(
            Taint,
            key=st.sampled_from(KEYS),
            effect=st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
        ),
        unique_by=lambda taint: (taint.key, taint.effect),
    ),
    ready=st.sampled_from(["True", "False", "Unknown"]),
    leave=st.sampled_from(EvictionLeave),
)
def test_taints_of_others_are_left_alone(
    taints: list[Taint], ready: str, leave: EvictionLeave
) -> None:
    after = taints_after(in_state(tuple(taints), Ready=ready), leave)
    foreign = [f"{t.key.removeprefix(PREFIX)}:{t.effect}" for t in taints]
    assert after[: len(foreign)] == foreign
