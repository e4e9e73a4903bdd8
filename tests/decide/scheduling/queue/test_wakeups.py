"""Pods are woken by what can help them, and by nothing else."""

from random import Random

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.core import Node, NodeSpec, Taint
from plimsoll.api.meta import ApiObject, Condition
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.api.typed import from_document
from plimsoll.decide.capacity.pools import POOLS, PublishedPool, pools_text
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.queue.affinity_wakeups import terms_of_others
from plimsoll.decide.scheduling.queue.wakeups import (
    ClusterChange,
    concerns,
    helps,
    may_help_any_pod,
)
from plimsoll.decide.scheduling.reasons import Rule
from tests.builders import (
    a_capacity,
    a_claim,
    a_class,
    a_csi_node,
    a_node,
    a_pod,
    a_volume,
)
from tests.decide.scheduling.builders import a_cluster, bound
from tests.decide.scheduling.queue.clusters import a_change, a_crowd, a_pod_of
from tests.oracle.runner import HERE, read_cases

BUSY = a_pod("busy", node="node-1", requests={"cpu": "1"})
WAITING = a_pod(requests={"cpu": "2"}, claims=["data"])
TAINT = Taint(key="dedicated", effect="NoSchedule")


def closed(node: Node) -> Node:
    return msgspec.structs.replace(node, spec=NodeSpec(unschedulable=True))


def beating(node: Node) -> Node:
    """The same, a little later."""
    conditions = (Condition(type="Ready", status="True", message="posted again"),)
    status = msgspec.structs.replace(node.status, conditions=conditions)
    return msgspec.structs.replace(node, status=status)


LARGE = msgspec.structs.replace(a_capacity(segment={}, gib=9), maximum_volume_size="5Gi")


def in_pool(capacity: CSIStorageCapacity, free: int) -> CSIStorageCapacity:
    pool = PublishedPool(name="disks", free={"disk": free}, cost=Cost())
    annotations = {POOLS: str(pools_text([pool]))}
    metadata = msgspec.structs.replace(capacity.metadata, annotations=annotations)
    return msgspec.structs.replace(capacity, metadata=metadata)


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        pytest.param(NodeRule.NODE_NAME, None, a_node(), id="a-node-comes"),
        pytest.param(NodeRule.UNSCHEDULABLE, closed(a_node()), a_node(), id="a-node-opens"),
        pytest.param(NodeRule.TAINTS, a_node(taints=[TAINT]), a_node(), id="a-taint-goes"),
        pytest.param(NodeRule.RESOURCES, a_node(cpu="1"), a_node(cpu="2"), id="a-node-grows"),
        pytest.param(NodeRule.RESOURCES, BUSY, None, id="a-pod-ends"),
        pytest.param(
            NodeRule.RESOURCES,
            BUSY,
            a_pod("busy", node="node-1", requests={"cpu": "500m"}),
            id="a-pod-asks-for-less",
        ),
        pytest.param(Rule.VOLUME_BINDING, None, a_volume(), id="a-volume-comes"),
        pytest.param(
            Rule.VOLUME_BINDING,
            a_capacity(segment={}, gib=1),
            a_capacity(segment={}, gib=2),
            id="capacity-grows",
        ),
        pytest.param(
            Rule.VOLUME_BINDING,
            in_pool(msgspec.structs.replace(LARGE, capacity="5Gi"), 1),
            in_pool(LARGE, 1),
            id="more-fits-in-all-but-no-larger-volume",
        ),
        pytest.param(
            Rule.VOLUME_BINDING, in_pool(LARGE, 1), in_pool(LARGE, 2), id="a-pool-has-more-free"
        ),
        pytest.param(Rule.VOLUME_BINDING, in_pool(LARGE, 1), LARGE, id="a-pool-is-named-no-more"),
        pytest.param(Rule.VOLUME_LIMITS, None, a_csi_node(), id="a-driver-comes"),
    ],
)
def test_a_change_helps_if_it_can_remove_the_reason_of_the_rule(
    rule: AnyRule, before: ApiObject | None, after: ApiObject | None
) -> None:
    assert may_help_any_pod(before, after)
    assert helps(rule, WAITING, before, after)


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        pytest.param(NodeRule.RESOURCES, None, a_node(cpu="1"), id="a-node-that-is-too-small"),
        pytest.param(NodeRule.RESOURCES, a_node(cpu="4"), a_node(cpu="3"), id="a-node-shrinks"),
        pytest.param(
            NodeRule.RESOURCES, a_node(), a_node(memory="64Gi"), id="more-of-what-is-not-asked-for"
        ),
        pytest.param(NodeRule.TAINTS, None, a_node(taints=[TAINT]), id="another-tainted-node"),
        pytest.param(NodeRule.UNSCHEDULABLE, a_node(), closed(a_node()), id="a-node-closes"),
        pytest.param(NodeRule.NODE_NAME, a_node(), a_node(cpu="9"), id="a-node-that-was-there"),
        pytest.param(
            Rule.VOLUME_BINDING,
            a_capacity(segment={}, gib=2),
            a_capacity(segment={}, gib=1),
            id="capacity-shrinks",
        ),
        pytest.param(
            Rule.VOLUME_BINDING, in_pool(LARGE, 2), in_pool(LARGE, 1), id="a-pool-has-less-free"
        ),
        pytest.param(Rule.VOLUME_BINDING, a_volume(), None, id="a-volume-goes"),
        pytest.param(Rule.VOLUME_ZONE, None, a_csi_node(), id="what-the-rule-does-not-look-at"),
    ],
)
def test_a_change_that_leaves_the_reason_of_the_rule_does_not_help(
    rule: AnyRule, before: ApiObject | None, after: ApiObject | None
) -> None:
    assert not helps(rule, WAITING, before, after)


def test_a_node_that_matches_from_now_on_helps() -> None:
    spec = msgspec.structs.replace(WAITING.spec, node_selector={"disk": "ssd"})
    picky = msgspec.structs.replace(WAITING, spec=spec)
    fast = a_node(labels={"disk": "ssd"})
    assert helps(NodeRule.NODE_AFFINITY, picky, a_node(), fast)
    assert not helps(NodeRule.NODE_AFFINITY, picky, fast, a_node())
    assert not helps(NodeRule.NODE_AFFINITY, picky, fast, a_node(labels={"disk": "ssd", "x": "y"}))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(a_node(), beating(a_node()), id="heartbeat"),
        pytest.param(a_pod(), None, id="a-pod-without-node-goes"),
        pytest.param(None, a_pod(), id="a-pod-without-node-comes"),
        pytest.param(
            BUSY,
            msgspec.structs.replace(
                BUSY, status=msgspec.structs.replace(BUSY.status, phase="Running")
            ),
            id="a-pod-runs",
        ),
        pytest.param(a_class(), a_class(), id="nothing-changed"),
    ],
)
def test_most_changes_help_no_pod(before: ApiObject | None, after: ApiObject | None) -> None:
    assert not may_help_any_pod(before, after)


CLUSTER = a_cluster(a_claim())


@pytest.mark.parametrize(
    ("object_", "expected"),
    [
        pytest.param(a_volume(), True, id="volume-of-the-class"),
        pytest.param(a_volume(class_name="slow"), False, id="volume-of-another-class"),
        pytest.param(
            a_volume(class_name="slow", claim=a_claim()), True, id="volume-kept-for-the-claim"
        ),
        pytest.param(a_capacity(segment={}, gib=1), True, id="capacity-of-the-class"),
        pytest.param(
            a_capacity(segment={}, gib=1, class_name="slow"), False, id="capacity-of-another"
        ),
        pytest.param(a_class(), True, id="the-class"),
        pytest.param(a_class("slow"), False, id="another-class"),
        pytest.param(a_node(), True, id="any-node"),
    ],
)
def test_volumes_capacities_and_classes_concern_those_who_ask_for_them(
    object_: ApiObject, *, expected: bool
) -> None:
    assert concerns(WAITING, object_, object_, CLUSTER) is expected
    assert concerns(WAITING, object_, None, CLUSTER) is expected


def test_a_class_that_comes_concerns_every_pod_as_it_does_in_kube_scheduler() -> None:
    assert concerns(WAITING, None, a_class("slow"), CLUSTER)


def test_other_volumes_and_capacities_that_come_do_not() -> None:
    assert not concerns(WAITING, None, a_volume(class_name="slow"), CLUSTER)
    other = a_capacity(segment={}, gib=1, class_name="slow")
    assert not concerns(WAITING, None, other, CLUSTER)


def test_the_volume_that_a_claim_names_concerns_its_pod() -> None:
    cluster = a_cluster(bound(a_claim(class_name=""), "volume-1"))
    assert concerns(WAITING, None, a_volume(class_name="slow"), cluster)
    assert not concerns(WAITING, None, a_volume("volume-2", class_name="slow"), cluster)


def nominated(pod: Pod, node: str) -> Pod:
    status = msgspec.structs.replace(pod.status, nominated_node_name=node)
    return msgspec.structs.replace(pod, status=status)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(nominated(a_pod("x"), "node-1"), a_pod("x"), True, id="given-up"),
        pytest.param(nominated(a_pod("x"), "node-2"), a_pod("x", node="node-1"), True, id="moved"),
        pytest.param(nominated(a_pod("x"), "node-1"), a_pod("x", node="node-1"), False, id="kept"),
        pytest.param(a_pod("x"), nominated(a_pod("x"), "node-1"), False, id="nominated"),
    ],
)
def test_a_pod_that_is_not_meant_for_a_node_any_more_leaves_it(
    before: Pod, after: Pod, *, expected: bool
) -> None:
    assert may_help_any_pod(before, after)
    assert helps(NodeRule.RESOURCES, WAITING, before, after) is expected


def test_a_pod_that_comes_helps_only_those_that_look_at_other_pods() -> None:
    change = ClusterChange.of(a_pod("busy"), BUSY)
    assert change.only_takes
    assert change.rules == {NodeRule.SPREAD, NodeRule.POD_AFFINITY}
    assert not ClusterChange.of(BUSY, None).only_takes


def test_a_feature_that_a_node_declares_from_now_on_helps() -> None:
    capable = msgspec.structs.replace(
        a_node(), status=msgspec.structs.replace(a_node().status, declared_features=("New",))
    )
    assert may_help_any_pod(a_node(), capable)
    assert helps(NodeRule.FEATURES, WAITING, a_node(), capable)
    assert not helps(NodeRule.FEATURES, WAITING, capable, a_node())


def test_kube_schedulers_hints_wake_pods_here_too() -> None:
    """Whatever else does: the rules about other pods have wider tests of their own."""
    told = 0
    for case in read_cases(HERE / "hints.jsonl.gz"):
        given, pod = case["input"], from_document(Pod, case["input"]["pod"])
        if given["resource"] == "TargetPod":
            continue
        type_: type[ApiObject] = Node if given["resource"] == "Node" else Pod
        old, new = (given[name] and from_document(type_, given[name]) for name in ("old", "new"))
        for hints in case["expect"]["hints"].values():
            for rule in (rule for rule in NodeRule if hints.get(rule) == "Queue"):
                assert helps(rule, pod, old, new), (case["id"], rule)
                told += 1
    assert told > 0


@given(seed=st.integers(0, 2**32 - 1))
def test_a_change_after_which_a_node_would_do_always_wakes_the_pod(seed: int) -> None:
    """Whatever rule refused it: for pods without volumes, kube-scheduler's gaps are closed."""
    chance = Random(seed)
    objects = a_crowd(chance)
    pod = a_pod_of(chance, "waiting")
    columns = Columns.of(objects)
    refused = Kernel(columns).decide(pod)
    before, after = a_change(chance, objects)
    if after is not None:
        columns.put(after)
    elif before is not None:
        columns.remove(before)
    if isinstance(refused, NoNode) and isinstance(Kernel(columns).decide(pod), Placement):
        assert may_help_any_pod(before, after)
        change = ClusterChange.of(before, after, terms_of_others(columns))
        assert any(change.helps(rule, pod) for rule in refused.rules)
