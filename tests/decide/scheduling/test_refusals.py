"""What is remembered of refused nodes, for how long, and what is told of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from plimsoll.api.core import Node, NodeStatus, Taint
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.storage import CSIDriverSpec, CSIStorageCapacity
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.decide.scheduling.refusals import (
    ERROR_LENGTH,
    MOST_NODES,
    Refusal,
    Refusals,
    find_refused_node,
    tell_pause,
    tell_refusal,
)
from tests.builders import (
    CLASS,
    DRIVER,
    ZONE,
    a_capacity,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_pod,
)
from tests.decide.scheduling.builders import annotated

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD = a_pod(claims=["data"])
LABELS = {"a": {ZONE: "a"}, "b": {ZONE: "b"}}


def a_refusal(node: str = "a", at: datetime = NOW) -> Refusal:
    claim = ObjectKey("default", "data")
    return Refusal(node=node, claim=claim, storage_class=CLASS, driver=DRIVER, at=at)


def remembering(*nodes: str) -> Refusals:
    memory = Refusals()
    for number, node in enumerate(nodes):
        memory.add(POD, a_refusal(node, NOW + timedelta(seconds=number)))
    return memory


def active(memory: Refusals, after: timedelta = timedelta(seconds=30)) -> list[str]:
    return [refusal.node for refusal in memory.active(POD, NOW + after)]


def observe(memory: Refusals, before: ApiObject | None, after: ApiObject | None) -> None:
    memory.observe(before, after, lambda node: LABELS.get(node, {}))


def test_the_least_recently_refused_node_comes_first() -> None:
    assert active(remembering("a", "b", "c")) == ["a", "b", "c"]
    assert active(remembering("a", "b", "a")) == ["b", "a"]


def test_a_refusal_counts_for_a_minute_and_for_twice_as_long_each_time_again() -> None:
    memory = remembering("a")
    assert active(memory, timedelta(seconds=59)) == ["a"]
    assert active(memory, timedelta(seconds=60)) == []

    again = NOW + timedelta(minutes=5)
    memory.add(POD, a_refusal("a", again))
    assert active(memory, timedelta(minutes=6, seconds=59)) == ["a"]
    assert active(memory, timedelta(minutes=7)) == []


def test_a_node_whose_refusal_has_ended_takes_its_turn_while_another_one_counts() -> None:
    """Or two nodes whose refusals end one after the other would be tried by turns for ever."""
    memory = remembering("worse", "best", "second")
    memory.add(POD, a_refusal("best", NOW + timedelta(minutes=2)))
    soon = NOW + timedelta(minutes=3)
    assert [refusal.node for refusal in memory.active(POD, soon)] == ["best"]
    in_turn = [refusal.node for refusal in memory.in_turn(POD, soon)]
    assert in_turn == ["worse", "second", "best"]
    assert memory.in_turn(POD, NOW + timedelta(minutes=4)) == []


def test_an_attempt_counts_once_however_many_claims_the_node_is_taken_off() -> None:
    memory = Refusals()
    first, second = (replace(a_refusal(), hold=hold) for hold in ("uid/0", "uid/1"))
    other = replace(first, claim=ObjectKey("default", "logs"))

    assert [memory.add(POD, each) for each in (first, other)] == [first, first]
    assert memory.add(POD, second).times == 2


def test_the_claim_that_was_refused_may_be_known_later() -> None:
    memory = Refusals()
    known = memory.add(POD, replace(a_refusal(), hold="uid/0"))
    other = replace(a_refusal(at=NOW + timedelta(seconds=1)), claim=ObjectKey("default", "logs"))

    assert memory.correct(POD, other) == replace(known, claim=other.claim)
    assert memory.add(POD, replace(known, hold="uid/0")).claim == other.claim


def test_a_refusal_never_counts_for_longer_than_ten_minutes() -> None:
    memory = remembering(*["a"] * 60)

    assert active(memory, timedelta(minutes=10)) == ["a"]
    assert active(memory, timedelta(minutes=11)) == []


def test_no_more_nodes_are_remembered_than_a_pod_may_have() -> None:
    memory = remembering(*(f"n-{number}" for number in range(MOST_NODES + 10)))

    assert len(memory) == MOST_NODES
    assert active(memory)[0] == "n-10"


def test_a_pod_of_the_same_name_begins_anew() -> None:
    memory = remembering("a")
    metadata = msgspec.structs.replace(POD.metadata, uid="another")
    namesake = msgspec.structs.replace(POD, metadata=metadata)

    assert memory.active(namesake, NOW) == []
    memory.add(namesake, a_refusal("b"))
    assert active(memory) == []


def test_pods_remember_apart_and_go_apart() -> None:
    memory = remembering("a")
    other = a_pod("other", claims=["data"])

    assert memory.active(other, NOW) == []
    memory.forget_pod(POD.key)
    assert len(memory) == 0


def relabelled(node: Node, **labels: str) -> Node:
    metadata = msgspec.structs.replace(node.metadata, labels={**node.labels, **labels})
    return msgspec.structs.replace(node, metadata=metadata)


def capacity_of(gib: int, zone: str = "a", class_name: str = CLASS) -> CSIStorageCapacity:
    return a_capacity(segment={ZONE: zone}, gib=gib, class_name=class_name)


NODE, SMALL_DRIVER = a_node("a"), a_driver()
CHANGED: dict[str, tuple[ApiObject | None, ApiObject | None]] = {
    "the node has other labels": (NODE, relabelled(NODE, disk="new")),
    "the node has another taint": (
        NODE,
        a_node("a", taints=(Taint(key="x", effect="NoSchedule"),)),
    ),
    "the node is gone": (NODE, None),
    "the class has other parameters": (
        a_class(),
        msgspec.structs.replace(a_class(), parameters={"type": "fast"}),
    ),
    "the class is made again": (None, a_class()),
    "the driver is another": (
        SMALL_DRIVER,
        msgspec.structs.replace(SMALL_DRIVER, spec=CSIDriverSpec(storage_capacity=False)),
    ),
    "the driver is registered with other keys": (
        a_csi_node("a", topology_keys=[ZONE]),
        a_csi_node("a", topology_keys=[ZONE, "rack"]),
    ),
    "capacity is published": (None, capacity_of(1)),
    "capacity grows": (capacity_of(1), capacity_of(2)),
    "capacity is published for other nodes": (capacity_of(2, "b"), capacity_of(2)),
}
WITHOUT_CONSEQUENCE: dict[str, tuple[ApiObject | None, ApiObject | None]] = {
    "a heartbeat of the node": (NODE, msgspec.structs.replace(NODE, status=NodeStatus())),
    "another node": (None, a_node("b")),
    "another class": (None, a_class("slow")),
    "another driver": (None, a_driver("other.example.com")),
    "another driver on the node": (None, a_csi_node("a", driver="other.example.com")),
    "capacity shrinks": (capacity_of(2), capacity_of(1)),
    "capacity is gone": (capacity_of(2), None),
    "capacity elsewhere": (capacity_of(1, "b"), capacity_of(2, "b")),
    "capacity of another class": (None, capacity_of(2, "a", "slow")),
    "the claim itself": (None, a_claim()),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_a_node_is_no_longer_refused_once(
    change: tuple[ApiObject | None, ApiObject | None],
) -> None:
    memory = remembering("a")
    observe(memory, *change)
    assert active(memory) == []
    assert len(memory) == 0


@pytest.mark.parametrize("change", WITHOUT_CONSEQUENCE.values(), ids=WITHOUT_CONSEQUENCE)
def test_a_node_stays_refused_whatever_happens_to(
    change: tuple[ApiObject | None, ApiObject | None],
) -> None:
    memory = remembering("a")
    observe(memory, *change)
    assert active(memory) == ["a"]


def test_who_refused_what_and_why_is_told_in_one_line() -> None:
    memory = remembering("a")
    refusal = memory.set_error(POD, "a", "rpc error:\n  no room" + "!" * 1000)

    assert refusal is not None
    told = tell_refusal(refusal)
    assert told.reason is Reason.PROVISIONER_REFUSED
    start = f'provisioning failed for PVC "data": {DRIVER} refused node a: rpc error: no room!!!'
    assert told.sentence.startswith(start)
    assert len(refusal.error) == ERROR_LENGTH


def test_a_refusal_without_a_known_error_is_told_all_the_same() -> None:
    sentence = f'provisioning failed for PVC "data": {DRIVER} refused node a'

    assert tell_refusal(a_refusal()).sentence == sentence


def on_node(node: str) -> PersistentVolumeClaim:
    return annotated(a_claim(), {SELECTED_NODE: node})


def bound(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    spec = msgspec.structs.replace(claim.spec, volume_name="volume-1")
    return msgspec.structs.replace(claim, spec=spec)


@pytest.mark.parametrize(
    ("before", "after", "node"),
    [
        pytest.param(on_node("a"), a_claim(), "a", id="taken-off"),
        pytest.param(on_node("a"), on_node("b"), None, id="selected-by-another-scheduler"),
        pytest.param(on_node("a"), bound(a_claim()), None, id="bound-meanwhile"),
        pytest.param(a_claim(), on_node("a"), None, id="selected"),
        pytest.param(on_node("a"), None, None, id="claim-deleted"),
        pytest.param(on_node("a"), a_claim(namespace="other"), None, id="a-claim-made-anew"),
    ],
)
def test_a_node_is_refused_by_taking_it_off_a_claim_that_still_waits(
    before: ApiObject | None, after: ApiObject | None, node: str | None
) -> None:
    assert find_refused_node(before, after) == node


def test_a_node_that_refused_is_tried_again_after_a_pause_that_doubles() -> None:
    memory = remembering("a")
    assert memory.not_before(POD, "a") == NOW + timedelta(seconds=10)
    assert memory.not_before(POD, "b") is None, "it has not refused the pod"
    assert remembering("a", "a").not_before(POD, "a") == NOW + timedelta(seconds=1 + 20)
    many = remembering(*["a"] * 60)
    assert many.not_before(POD, "a") == NOW + timedelta(seconds=59, minutes=5)


def test_the_pause_begins_with_the_last_refusal_by_any_node() -> None:
    memory = remembering("a", "b", "c")
    assert memory.not_before(POD, "a") == NOW + timedelta(seconds=2 + 10)


def test_a_change_of_the_node_ends_the_pause() -> None:
    memory = remembering("a", "b")
    observe(memory, NODE, relabelled(NODE, disk="new"))
    assert memory.not_before(POD, "a") is None
    assert memory.not_before(POD, "b") is not None


@pytest.mark.parametrize(
    ("gib", "is_over"),
    [pytest.param(10, False, id="only-what-was-given-back"), pytest.param(11, True, id="more")],
)
def test_what_the_pod_itself_gives_back_is_no_reason_to_try_again(
    gib: int, *, is_over: bool
) -> None:
    memory = Refusals()
    refusal = replace(a_refusal(), published_bytes=4 << 30, returned_bytes=6 << 30)
    memory.add(POD, refusal)
    observe(memory, capacity_of(4), capacity_of(gib))
    assert (memory.not_before(POD, "a") is None) is is_over


def test_the_pause_is_told_with_what_the_provisioner_said() -> None:
    told = tell_pause(replace(a_refusal(), error="no room"), timedelta(seconds=40))
    assert told.reason is Reason.PROVISIONER_REFUSED
    assert "the next attempt is 40s after the last" in told.sentence
    assert told.sentence.endswith("refused node a: no room")
