"""Which volumes of a lost node are given up, and which never."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.pods import Pod, PodStatus
from plimsoll.api.selectors.node import NodeRequirementSpec, NodeSelectorSpec, NodeTermSpec
from plimsoll.api.storage import VolumeAttachment
from plimsoll.api.volumes import (
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeNodeAffinity,
    VolumeStatus,
)
from plimsoll.decide.plan import Delete
from plimsoll.decide.repair.lost_volumes import LostVolumesView, decide_lost_volume, pinned_node
from plimsoll.decide.repair.repairs import Repair
from tests.builders import a_claim, a_node, a_pod, a_volume

HOUR = timedelta(hours=1)
PIN = {"kubernetes.io/hostname": "node-1"}
CLAIM = a_claim(volume="volume-1")


def pinned(
    phase: str = "Bound",
    *,
    policy: str = "Delete",
    claim: PersistentVolumeClaim | None = CLAIM,
    pin: dict[str, str] | None = PIN,
) -> PersistentVolume:
    volume = a_volume(claim=claim, reachable_from=pin)
    spec = msgspec.structs.replace(volume.spec, persistent_volume_reclaim_policy=policy)
    return msgspec.structs.replace(volume, spec=spec, status=VolumeStatus(phase=phase))


ALONE = LostVolumesView(nodes=[a_node("node-2")], claim=CLAIM)


def decide(
    volume: PersistentVolume, around: LostVolumesView = ALONE, gone_for: timedelta = HOUR
) -> Repair | None:
    return decide_lost_volume(volume, around, gone_for=gone_for, grace=HOUR)


def deleted(repair: Repair | None) -> list[str]:
    assert repair is not None
    assert all(isinstance(write, Delete) and write.uid for write in repair.writes)
    return [str(write.resource) for write in repair.writes if isinstance(write, Delete)]


def test_a_bound_volume_goes_after_its_claim() -> None:
    repair = decide(pinned())
    assert deleted(repair) == ["persistentvolumeclaims", "persistentvolumes"]
    assert repair is not None
    assert repair.found == (
        "Node node-1, the only one that can reach this volume, has been gone for 1:00:00"
    )


@pytest.mark.parametrize("phase", ["Released", "Failed"])
def test_a_volume_without_its_claim_goes_alone(phase: str) -> None:
    around = LostVolumesView(nodes=[a_node("node-2")])
    assert deleted(decide(pinned(phase), around)) == ["persistentvolumes"]


def test_a_pod_that_waits_for_a_node_is_no_user() -> None:
    around = replace(ALONE, pods=[a_pod(claims=["data"])])
    assert deleted(decide(pinned(), around))


RUNNING = a_pod(claims=["data"], node="node-2")


@pytest.mark.parametrize(
    ("volume", "around", "gone_for"),
    [
        pytest.param(pinned(policy="Retain"), ALONE, HOUR, id="retained"),
        pytest.param(pinned(policy="Recycle"), ALONE, HOUR, id="recycled"),
        pytest.param(pinned("Available", claim=None), ALONE, HOUR, id="never-used"),
        pytest.param(pinned("Failed"), ALONE, HOUR, id="failed-while-its-claim-is-there"),
        pytest.param(pinned(), ALONE, HOUR / 2, id="not-gone-for-long"),
        pytest.param(pinned(pin=None), ALONE, HOUR, id="reachable-from-everywhere"),
        pytest.param(
            pinned(pin={"topology.kubernetes.io/zone": "a"}), ALONE, HOUR, id="pinned-to-a-zone"
        ),
        pytest.param(
            pinned(), replace(ALONE, nodes=[a_node("node-1")]), HOUR, id="the-node-is-there"
        ),
        pytest.param(
            pinned(),
            replace(ALONE, nodes=[a_node("other", labels={"kubernetes.io/hostname": "node-1"})]),
            HOUR,
            id="a-node-with-that-hostname-is-there",
        ),
        pytest.param(pinned(), replace(ALONE, pods=[RUNNING]), HOUR, id="a-pod-uses-it"),
        pytest.param(
            pinned(), replace(ALONE, attachments=[VolumeAttachment()]), HOUR, id="attached"
        ),
        pytest.param(pinned(), replace(ALONE, claim=None), HOUR, id="bound-to-an-unknown-claim"),
        pytest.param(
            pinned(), replace(ALONE, claim=a_claim(volume="other")), HOUR, id="the-claim-moved-on"
        ),
    ],
)
def test_what_is_never_given_up(
    volume: PersistentVolume, around: LostVolumesView, gone_for: timedelta
) -> None:
    assert decide(volume, around, gone_for) is None


def test_a_namesake_of_the_claim_is_not_deleted_with_the_volume() -> None:
    metadata = msgspec.structs.replace(CLAIM.metadata, uid="namesake")
    namesake = msgspec.structs.replace(CLAIM, metadata=metadata)
    around = replace(ALONE, claim=namesake)
    assert decide(pinned("Bound"), around) is None
    assert deleted(decide(pinned("Released"), around)) == ["persistentvolumes"]


def requirement(key: str, *values: str) -> NodeRequirementSpec:
    return NodeRequirementSpec(key=key, operator="In", values=values)


def with_terms(*terms: NodeTermSpec) -> PersistentVolume:
    affinity = VolumeNodeAffinity(required=NodeSelectorSpec(node_selector_terms=terms))
    volume = a_volume()
    return msgspec.structs.replace(
        volume, spec=msgspec.structs.replace(volume.spec, node_affinity=affinity)
    )


HOST = NodeTermSpec(match_expressions=(requirement("kubernetes.io/hostname", "node-1"),))


@pytest.mark.parametrize(
    ("volume", "node"),
    [
        pytest.param(with_terms(HOST), "node-1", id="by-hostname"),
        pytest.param(
            with_terms(NodeTermSpec(match_fields=(requirement("metadata.name", "node-1"),))),
            "node-1",
            id="by-name",
        ),
        pytest.param(
            with_terms(HOST, NodeTermSpec()), "node-1", id="an-empty-term-reaches-no-node"
        ),
        pytest.param(
            with_terms(HOST, NodeTermSpec(match_expressions=(requirement("zone", "a"),))),
            "",
            id="another-way-to-reach-it",
        ),
        pytest.param(
            with_terms(
                NodeTermSpec(
                    match_expressions=(requirement("kubernetes.io/hostname", "node-1", "node-2"),)
                )
            ),
            "",
            id="two-hosts",
        ),
        pytest.param(a_volume(), "", id="no-affinity"),
    ],
)
def test_which_volumes_are_pinned_to_one_node(volume: PersistentVolume, node: str) -> None:
    assert pinned_node(volume) == node


@given(
    phase=st.sampled_from(["Bound", "Released", "Available", "Failed", "Pending"]),
    policy=st.sampled_from(["Delete", "Retain", "Recycle", ""]),
    node=st.sampled_from(["node-1", "node-2"]),
    pod=st.one_of(
        st.none(),
        st.tuples(st.sampled_from(["", "node-2"]), st.sampled_from(["Running", "Failed"])),
    ),
    minutes=st.integers(0, 120),
)
def test_no_rule_of_safety_is_ever_broken(
    *, phase: str, policy: str, node: str, pod: tuple[str, str] | None, minutes: int
) -> None:
    pods: Sequence[Pod] = ()
    if pod is not None:
        made: Any = a_pod(claims=["data"], node=pod[0])
        pods = [msgspec.structs.replace(made, status=PodStatus(phase=pod[1]))]
    around = LostVolumesView(nodes=[a_node(node)], pods=pods, claim=CLAIM)
    repair = decide(pinned(phase, policy=policy), around, timedelta(minutes=minutes))
    if repair is not None:
        assert policy == "Delete"
        assert phase == "Bound"  # the claim is there
        assert node != "node-1"
        assert minutes >= 60
        assert pod is None or not pod[0] or pod[1] == "Failed"
