from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectReference, OwnerReference
from plimsoll.api.pods import (
    ClaimVolume,
    Container,
    EphemeralVolume,
    NodeSource,
    Pod,
    PodSpec,
    PodVolume,
    VolumeUse,
)
from plimsoll.api.selectors.node import NodeRequirementSpec, NodeSelectorSpec, NodeTermSpec
from plimsoll.api.volumes import (
    ClaimSpec,
    ClaimStatus,
    CsiSource,
    PathOnNode,
    PersistentVolume,
    PersistentVolumeClaim,
    SecretReference,
    VolumeNodeAffinity,
    VolumeSpec,
)
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.desired_volumes import (
    CsiVolume,
    OwnVolume,
    Storage,
    Unready,
    desired_volumes,
)
from tests.builders import meta

SOURCE = CsiSource(driver="disk.example.com", volume_handle="a", fs_type="xfs")
ZONE_B = VolumeNodeAffinity(
    required=NodeSelectorSpec(
        node_selector_terms=(
            NodeTermSpec(
                match_expressions=(NodeRequirementSpec(key="zone", operator="In", values=("b",)),)
            ),
        )
    )
)


def a_claim(phase: str = "Bound") -> PersistentVolumeClaim:
    return PersistentVolumeClaim(
        metadata=meta("data", "default"),
        spec=ClaimSpec(volume_name="pv"),
        status=ClaimStatus(phase=phase),
    )


KEPT = ObjectReference(namespace="default", name="data", uid="uid-default-data")


def a_volume(**spec: Any) -> PersistentVolume:
    usual = VolumeSpec(csi=SOURCE, claim_ref=KEPT)
    return PersistentVolume(metadata=meta("pv"), spec=msgspec.structs.replace(usual, **spec))


def a_pod(*volumes: PodVolume, containers: tuple[Container, ...] = ()) -> Pod:
    return Pod(
        metadata=meta("web", "default"), spec=PodSpec(volumes=volumes, containers=containers)
    )


USES_CLAIM = PodVolume(name="d", persistent_volume_claim=ClaimVolume(claim_name="data"))


def only(
    pod: Pod,
    claim: PersistentVolumeClaim | None = None,
    volume: PersistentVolume | None = None,
    *,
    labels: dict[str, str] | None = None,
) -> CsiVolume | OwnVolume | Unready:
    storage = Storage(
        node=Node(metadata=meta("node-1", labels=labels)),
        claims={claim.key: claim} if claim else {},
        volumes={volume.name: volume} if volume else {},
    )
    (found,) = desired_volumes(pod, storage)
    return found


def test_a_claimed_volume_is_that_of_its_driver() -> None:
    found = only(a_pod(USES_CLAIM), a_claim(), a_volume(mount_options=("noatime",)))
    assert isinstance(found, CsiVolume)
    assert (found.name, found.device) == ("pv", Device("disk.example.com", "a"))
    assert (found.fs_type, found.mount_options) == ("xfs", ("noatime",))
    assert not found.is_inline


DELETING = msgspec.structs.replace(
    a_claim(),
    metadata=msgspec.structs.replace(
        meta("data", "default"), deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC)
    ),
)


ROLLING_BACK = msgspec.structs.replace(
    a_claim(),
    metadata=msgspec.structs.replace(
        meta("data", "default"), annotations={"plimsoll.dev/rolling-back": "x"}
    ),
)


@pytest.mark.parametrize(
    ("claim", "volume", "says"),
    [
        pytest.param(None, None, "does not exist", id="no-claim"),
        pytest.param(a_claim(phase="Pending"), None, "is not bound", id="unbound"),
        pytest.param(DELETING, None, "is being deleted", id="deleting"),
        pytest.param(ROLLING_BACK, None, "is being rolled back", id="rolling-back"),
        pytest.param(a_claim(), None, 'volume "pv" of claim "data" does not exist', id="no-volume"),
        pytest.param(a_claim(), a_volume(claim_ref=None), "another claim", id="not-kept-for-it"),
        pytest.param(
            a_claim(), a_volume(node_affinity=ZONE_B), "NodeAffinity check failed", id="elsewhere"
        ),
        pytest.param(a_claim(), a_volume(csi=None), "no support", id="unknown-type"),
    ],
)
def test_what_is_not_ready_says_why(
    claim: PersistentVolumeClaim | None, volume: PersistentVolume | None, says: str
) -> None:
    found = only(a_pod(USES_CLAIM), claim, volume)
    assert isinstance(found, Unready)
    assert says in found.message


def test_a_volume_that_the_nodes_labels_reach_is_ready() -> None:
    far = a_volume(node_affinity=ZONE_B)
    found = only(a_pod(USES_CLAIM), a_claim(), far, labels={"zone": "b"})
    assert isinstance(found, CsiVolume)


def test_the_claim_of_an_ephemeral_volume_must_be_the_pods_own() -> None:
    pod = a_pod(PodVolume(name="d", ephemeral=EphemeralVolume()))
    claim = msgspec.structs.replace(a_claim(), metadata=meta("web-d", "default"))
    found = only(pod, claim)
    assert isinstance(found, Unready)
    assert "was not made for this pod" in found.message
    owner = OwnerReference(uid=pod.uid, controller=True)
    owned = msgspec.structs.replace(claim.metadata, owner_references=(owner,))
    found = only(pod, msgspec.structs.replace(claim, metadata=owned))
    assert isinstance(found, Unready)
    assert "of claim" in found.message


def test_a_device_is_not_mounted_and_a_file_system_is_no_device() -> None:
    mounts = (Container(name="main", volume_mounts=(VolumeUse(name="d"),)),)
    devices = (Container(name="main", volume_devices=(VolumeUse(name="d"),)),)
    block = a_volume(volume_mode="Block")
    wrong = only(a_pod(USES_CLAIM, containers=mounts), a_claim(), block)
    assert isinstance(wrong, Unready)
    right = only(a_pod(USES_CLAIM, containers=devices), a_claim(), block)
    assert isinstance(right, CsiVolume)
    assert right.is_block
    assert isinstance(only(a_pod(USES_CLAIM, containers=devices), a_claim(), a_volume()), Unready)


def test_an_inline_volume_reaches_no_secret_of_another_namespace() -> None:
    secret = SecretReference(name="key", namespace="kube-system")
    source = CsiSource(driver="x", node_publish_secret_ref=secret)
    found = only(a_pod(PodVolume(name="i", csi=source)))
    assert isinstance(found, CsiVolume)
    assert found.is_inline
    assert found.publish_secret == SecretReference(name="key", namespace="default")


def test_volumes_that_the_node_makes_itself_need_no_driver() -> None:
    empty = only(a_pod(PodVolume(name="e", empty_dir=NodeSource())))
    assert empty == OwnVolume(name="e", plugin="empty-dir")
    host = only(a_pod(PodVolume(name="h", host_path=PathOnNode(path="/srv"))))
    assert host == OwnVolume(name="h", plugin="host-path", path="/srv")
    local = a_volume(csi=None, local=PathOnNode(path="/disk"))
    claim = a_claim()
    found = only(a_pod(USES_CLAIM), claim, local)
    assert found == OwnVolume(
        name="pv", plugin="local-volume", path="/disk", must_exist=True, claim=claim
    )
    assert isinstance(only(a_pod(PodVolume(name="x"))), Unready)
