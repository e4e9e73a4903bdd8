from datetime import timedelta

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.persistent_volume import RULES
from tests.apiserver.model.kinds.storage.objects import (
    NOW,
    a_volume,
    a_volume_on,
    causes,
    node_affinity,
)

STAMP = "2026-11-15T21:15:17Z"
ZONE_A = {"key": "failure-domain.beta.kubernetes.io/zone", "operator": "In", "values": ["a"]}


def test_a_volume_is_kept_when_its_claim_goes_unless_told_otherwise() -> None:
    volume = {"metadata": {"name": "pv-1"}, "spec": {"capacity": {"storage": "100n"}}}

    RULES.default(volume)

    assert volume["spec"] == {
        "capacity": {"storage": "1m"},
        "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
    }


def test_a_new_volume_is_pending_since_now_whatever_the_client_says() -> None:
    volume = a_volume() | {"status": {"phase": "Bound", "message": "x"}}

    RULES.prepare_create(volume, NOW)

    assert volume["status"] == {"phase": "Pending", "lastPhaseTransitionTime": STAMP}


@pytest.mark.parametrize(
    ("status", "stamp"),
    [
        pytest.param({"phase": "Bound"}, "2026-11-15T22:15:17Z", id="changed"),
        pytest.param(
            {"phase": "Bound", "lastPhaseTransitionTime": STAMP},
            "2026-11-15T22:15:17Z",
            id="changed-with-the-old-stamp",
        ),
        pytest.param({"phase": "Pending"}, STAMP, id="the-same"),
        pytest.param(
            {"phase": "Bound", "lastPhaseTransitionTime": "2020-01-01T00:00:00Z"},
            "2020-01-01T00:00:00Z",
            id="told-by-the-client",
        ),
    ],
)
def test_a_change_of_phase_is_stamped(status: Document, stamp: str) -> None:
    old = a_volume() | {"status": {"phase": "Pending", "lastPhaseTransitionTime": STAMP}}
    new = a_volume(capacity={"storage": "9Gi"}) | {"status": status}

    RULES.prepare_status(new, old, NOW + timedelta(hours=1))

    assert new["status"]["lastPhaseTransitionTime"] == stamp
    assert new["spec"] == old["spec"]


def test_who_may_use_a_volume_can_change() -> None:
    changed = a_volume(
        capacity={"storage": "1Mi"},
        accessModes=["ReadOnlyMany"],
        storageClassName="other",
        claimRef={"namespace": "default", "name": "c"},
        persistentVolumeReclaimPolicy="Delete",
        nodeAffinity=node_affinity(ZONE_A),
    )

    assert not list(RULES.validate_update(changed, a_volume()))


def test_where_a_volume_is_never_changes() -> None:
    moved = a_volume(csi={"driver": "d.example.com", "volumeHandle": "other"}, volumeMode="Block")

    assert causes(RULES.validate_update(moved, a_volume())) == {
        ("Forbidden", "spec.persistentvolumesource"): 1,
        ("Invalid", "volumeMode"): 1,
    }


def test_the_secret_for_expansion_may_be_added_but_no_other() -> None:
    csi, secret = a_volume()["spec"]["csi"], {"name": "a", "namespace": "b"}
    expandable = a_volume(csi=csi | {"controllerExpandSecretRef": secret})
    changed = a_volume(csi=csi | {"controllerExpandSecretRef": secret | {"name": "c"}})
    mountable = a_volume(csi=csi | {"nodeExpandSecretRef": secret})
    fixed = [("Forbidden", "spec.persistentvolumesource")]

    assert not list(RULES.validate_update(expandable, a_volume()))
    assert list(causes(RULES.validate_update(changed, expandable))) == fixed
    assert list(causes(RULES.validate_update(mountable, a_volume()))) == fixed


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        pytest.param(ZONE_A, True, id="the-same"),
        pytest.param(ZONE_A | {"key": "topology.kubernetes.io/zone"}, True, id="the-new-label"),
        pytest.param(ZONE_A | {"key": "kubernetes.io/os"}, False, id="another-label"),
        pytest.param(ZONE_A | {"values": ["b"]}, False, id="another-zone"),
    ],
)
def test_an_affinity_may_only_move_to_the_label_that_followed(
    expression: Document, *, allowed: bool
) -> None:
    before = a_volume(nodeAffinity=node_affinity(ZONE_A))
    after = a_volume(nodeAffinity=node_affinity(expression))

    assert list(causes(RULES.validate_update(after, before))) == (
        [] if allowed else [("Invalid", "nodeAffinity")]
    )


def test_an_attributes_class_is_not_taken_away() -> None:
    before = a_volume(volumeAttributesClassName="gold")

    assert list(causes(RULES.validate_update(a_volume(), before))) == [
        ("Forbidden", "spec.volumeAttributesClassName")
    ]


def test_mount_options_as_an_annotation_are_for_old_drivers() -> None:
    annotation = "volume.beta.kubernetes.io/mount-options"
    metadata = {"name": "pv-1", "annotations": {annotation: "ro"}}
    old = a_volume_on(nfs={"server": "s", "path": "/"}) | {"metadata": metadata}

    assert not list(RULES.validate(old))
    assert list(causes(RULES.validate(a_volume() | {"metadata": metadata}))) == [
        ("Forbidden", f"metadata.annotations.{annotation}")
    ]


def test_what_went_out_of_use_is_pointed_out() -> None:
    volume = a_volume_on(
        rbd={"monitors": ["m"], "image": "i"},
        persistentVolumeReclaimPolicy="Recycle",
        nodeAffinity=node_affinity(ZONE_A),
    )

    assert [warning.partition(":")[0] for warning in RULES.warnings(volume, None)] == [
        "spec.persistentVolumeReclaimPolicy",
        "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key",
        "spec.rbd",
    ]
