"""When a node is selected for a claim whose pod never met the scheduler."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.pods import Pod, PodStatus
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.plan import Patch
from plimsoll.decide.repair.direct_node import decide_direct_node
from plimsoll.decide.repair.repairs import Repair
from tests.builders import a_claim, a_class, a_node, a_pod, a_volume

AT = datetime(2024, 1, 1, tzinfo=UTC)
NODES = {node.key: node for node in (a_node("node-1"), a_node("node-2"))}


def placed(name: str, node: str, minute: int = 0) -> Pod:
    pod = a_pod(name, claims=["data"], node=node)
    created = AT + timedelta(minutes=minute)
    metadata = msgspec.structs.replace(pod.metadata, creation_timestamp=created)
    return msgspec.structs.replace(pod, metadata=metadata)


def decide(
    *pods: Pod,
    claim: PersistentVolumeClaim | None = None,
    storage_class: StorageClass | None = None,
    volumes: Sequence[PersistentVolume] = (),
) -> Repair | None:
    return decide_direct_node(
        claim or a_claim(),
        storage_class or a_class(),
        pods=pods,
        nodes=NODES,
        volumes=volumes,
    )


def selected(repair: Repair | None) -> str:
    assert repair is not None
    (patch,) = repair.writes
    assert isinstance(patch, Patch)
    node: str = patch.patch["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]
    return node


def test_the_node_of_the_pod_is_selected_that_of_the_oldest_if_there_are_several() -> None:
    assert selected(decide(placed("a", "node-1"))) == "node-1"
    assert selected(decide(placed("a", "node-1", 5), placed("b", "node-2", 1))) == "node-2"


FINISHED = msgspec.structs.replace(placed("a", "node-1"), status=PodStatus(phase="Failed"))
MARKED = msgspec.structs.replace(
    a_claim(),
    metadata=msgspec.structs.replace(
        a_claim().metadata, annotations={"volume.kubernetes.io/selected-node": "node-2"}
    ),
)


@pytest.mark.parametrize(
    "repair",
    [
        pytest.param(decide(), id="no-pod"),
        pytest.param(decide(a_pod(claims=["data"])), id="the-pod-waits-for-the-scheduler"),
        pytest.param(decide(FINISHED), id="the-pod-is-finished"),
        pytest.param(decide(placed("a", "node-9")), id="the-node-is-not-known"),
        pytest.param(decide(placed("a", "node-1"), claim=MARKED), id="a-node-is-selected"),
        pytest.param(
            decide(placed("a", "node-1"), claim=a_claim(volume="volume-1")), id="has-a-volume"
        ),
        pytest.param(
            decide(placed("a", "node-1"), storage_class=a_class(binding_mode="Immediate")),
            id="the-class-does-not-wait",
        ),
        pytest.param(
            decide(
                placed("a", "node-1"),
                storage_class=a_class(provisioner="kubernetes.io/no-provisioner"),
            ),
            id="the-class-has-no-provisioner",
        ),
        pytest.param(
            decide(
                placed("a", "node-1"),
                volumes=[a_volume(reachable_from={"kubernetes.io/hostname": "node-2"})],
            ),
            id="a-volume-out-of-reach-might-be-taken",
        ),
    ],
)
def test_when_nothing_is_selected(repair: Repair | None) -> None:
    assert repair is None


def test_volumes_of_others_and_volumes_in_reach_are_no_obstacle() -> None:
    volumes = [
        a_volume("near", reachable_from={"kubernetes.io/hostname": "node-1"}),
        a_volume(
            "theirs", claim=a_claim("other"), reachable_from={"kubernetes.io/hostname": "node-2"}
        ),
    ]
    assert selected(decide(placed("a", "node-1"), volumes=volumes)) == "node-1"


@given(nodes=st.lists(st.sampled_from(["", "node-1", "node-2", "node-9"]), max_size=4))
def test_only_a_known_node_of_a_pod_that_uses_the_claim_is_ever_selected(nodes: list[str]) -> None:
    pods = [placed(f"pod-{n}", node, n) for n, node in enumerate(nodes)]
    repair = decide(*pods)
    if repair is not None:
        assert selected(repair) in {"node-1", "node-2"}.intersection(nodes)
