"""Which pods only their unused volumes keep from running, and which volumes have to go."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from plimsoll.api.meta import ApiObject, Condition, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import ROLLING_BACK, SELECTED_NODE
from plimsoll.decide.rollback.relocation import (
    BoundPair,
    Relocation,
    decide_relocation,
    has_waited,
    is_recreated,
    is_under_way,
)
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel
from tests.builders import (
    ZONE,
    a_capacity,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_pod,
    a_volume,
)
from tests.decide.rollback.unused import ZONE_A, ZONE_B, a_waiting_pod, annotated, with_spec
from tests.decide.scheduling.builders import bound

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def unschedulable(reason: str = "Unschedulable", **status: Any) -> Pod:
    condition = Condition(
        type="PodScheduled", status="False", reason=reason, last_transition_time=NOW - MINUTE
    )
    pod = a_waiting_pod()
    whole = msgspec.structs.replace(pod.status, **({"conditions": (condition,)} | status))
    return msgspec.structs.replace(pod, status=whole)


@pytest.mark.parametrize(
    ("pod", "has"),
    [
        pytest.param(unschedulable(), True, id="unschedulable"),
        pytest.param(unschedulable("SchedulerError"), True, id="refused by a provisioner"),
        pytest.param(unschedulable("SchedulingGated"), False, id="gated"),
        pytest.param(unschedulable(nominated_node_name="node-a"), False, id="about to preempt"),
        pytest.param(unschedulable(conditions=()), False, id="not tried yet"),
        pytest.param(with_spec(unschedulable(), node_name="node-a"), False, id="on a node"),
        pytest.param(with_spec(unschedulable(), volumes=()), False, id="without claims"),
    ],
)
def test_a_pod_counts_that_its_scheduler_found_no_node_for(pod: Pod, *, has: bool) -> None:
    assert has_waited(pod, NOW, MINUTE) is has
    assert not has_waited(pod, NOW, 2 * MINUTE)


@pytest.mark.parametrize(
    ("owner", "is_so"),
    [("StatefulSet", True), ("ReplicaSet", True), ("DaemonSet", True), ("Job", False), ("", False)],
)
def test_a_pod_is_deleted_only_where_its_owner_replaces_it_at_no_cost(
    owner: str, *, is_so: bool
) -> None:
    assert is_recreated(a_waiting_pod(owner=owner)) is is_so


def test_what_is_under_way_is_waited_for() -> None:
    done = bound(a_claim("done"), "volume-1")
    assert not is_under_way([a_claim(), done, annotated(done, SELECTED_NODE, "node-a")])
    assert is_under_way([annotated(a_claim(), SELECTED_NODE, "node-a")])
    assert is_under_way([annotated(done, ROLLING_BACK, "x")])
    assert is_under_way([annotated(a_claim(), "plimsoll.dev/hold", "uid/1/make")])


def a_pair(name: str, zone: dict[str, str] | None) -> BoundPair:
    claim = bound(a_claim(name), f"volume-{name}")
    volume = a_volume(f"volume-{name}", claim=claim, reachable_from=zone)
    return BoundPair(claim=claim, volume=volume)


def a_kernel(*objects: ApiObject | BoundPair, room_in_a: int = 0, room_in_b: int = 10) -> Kernel:
    """Two zones with one node each."""
    world: list[ApiObject] = [
        a_class(),
        a_driver(),
        a_capacity("a", segment=ZONE_A, gib=room_in_a),
        a_capacity("b", segment=ZONE_B, gib=room_in_b),
    ]
    for name in ("node-a", "node-b"):
        world += [a_node(name, labels={ZONE: name[-1]}), a_csi_node(name)]
    for each in objects:
        world += [each.claim, each.volume] if isinstance(each, BoundPair) else [each]
    return Kernel(Columns.of(world))


def decide(kernel: Kernel, *pairs: BoundPair, claims: list[str], **more: Any) -> Relocation | None:
    eligible = {pair.claim.key: pair for pair in pairs}
    return decide_relocation(a_pod(claims=claims), kernel, eligible, **more)


def waiting(name: str = "late") -> PersistentVolumeClaim:
    return a_claim(name, gib=5)


def test_the_volume_goes_that_keeps_the_pod_where_its_other_claim_does_not_fit() -> None:
    pinned = a_pair("data", ZONE_A)
    found = decide(a_kernel(pinned, waiting()), pinned, claims=["data", "late"])
    assert found is not None
    assert (found.node, found.pairs) == ("node-b", (pinned,))
    assert "CapacityZero" in found.why or "CapacityTooSmall" in found.why


def test_a_pod_that_can_run_where_its_volume_is_keeps_it() -> None:
    pinned = a_pair("data", ZONE_A)
    kernel = a_kernel(pinned, waiting(), room_in_a=10)
    assert decide(kernel, pinned, claims=["data", "late"]) is None


def test_a_node_that_a_provisioner_refused_counts_as_one_where_the_pod_cannot_run() -> None:
    pinned = a_pair("data", ZONE_A)
    kernel = a_kernel(pinned, waiting(), room_in_a=10)
    found = decide(kernel, pinned, claims=["data", "late"], refused=["node-a"])
    assert found is not None
    assert found.why == "no volume could be made for another claim of the pod on node-a."
    refused = ["node-a", "node-b"]
    assert decide(kernel, pinned, claims=["data", "late"], refused=refused) is None


def test_a_volume_is_not_taken_back_where_that_would_not_help() -> None:
    pinned = a_pair("data", ZONE_A)
    kernel = a_kernel(pinned, waiting(), room_in_b=3)
    assert decide(kernel, pinned, claims=["data", "late"]) is None


def test_volumes_that_the_new_node_reaches_are_kept() -> None:
    pinned, zonal = a_pair("data", ZONE_A), a_pair("logs", ZONE_B)
    kernel = a_kernel(pinned, zonal)
    found = decide(kernel, pinned, zonal, claims=["data", "logs"])
    assert found is not None
    assert len(found.pairs) == 1


def test_a_volume_that_must_stay_holds_all_others() -> None:
    pinned, used = a_pair("data", ZONE_A), a_pair("used", ZONE_A)
    kernel = a_kernel(pinned, used, waiting())
    assert decide(kernel, pinned, claims=["data", "used", "late"]) is None
    both = decide(kernel, pinned, used, claims=["data", "used", "late"])
    assert both is not None
    assert both.pairs == (pinned, used)


def test_a_claim_that_does_not_exist_is_no_reason_to_take_volumes_back() -> None:
    pinned = a_pair("data", ZONE_A)
    assert decide(a_kernel(pinned), pinned, claims=["data", "missing"]) is None


def test_the_cluster_that_is_judged_stays_as_it_is() -> None:
    pinned = a_pair("data", ZONE_A)
    kernel = a_kernel(pinned, waiting())
    first = decide(kernel, pinned, claims=["data", "late"])
    assert kernel.columns.claim(ObjectKey("default", "data")) == pinned.claim
    assert decide(kernel, pinned, claims=["data", "late"]) == first
