from dataclasses import replace
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.calls import CreatedVolume
from plimsoll.decide.provisioning.settings import (
    DriverCapability,
    ProvisionerMode,
    ProvisionerSettings,
)
from plimsoll.decide.provisioning.steps import ProvisioningRecord
from tests.builders import CLASS, DRIVER, ZONE
from tests.decide.provisioning.builders import (
    CLAIM,
    GIB,
    MADE,
    NAME,
    SETTINGS,
    UID,
    a_claim_document,
    a_class_document,
    a_world,
)

COMPATIBLE = replace(SETTINGS, mode=ProvisionerMode.COMPATIBLE)


def volume(
    made: CreatedVolume = MADE,
    *,
    settings: ProvisionerSettings = SETTINGS,
    class_: dict[str, Any] | None = None,
    claim: dict[str, Any] | None = None,
) -> Document:
    world = a_world(
        settings=settings,
        class_=a_class_document(**class_ or {}),
        claim=a_claim_document(**claim or {}),
    )
    world.driver.create = made
    end = world.provision(CLAIM)
    assert isinstance(end, ProvisioningRecord), end
    return end.volume


def test_a_volume_belongs_to_its_claim_and_tells_who_made_it() -> None:
    assert volume() == {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": NAME,
            "annotations": {
                "pv.kubernetes.io/provisioned-by": DRIVER,
                "volume.kubernetes.io/provisioner-deletion-secret-name": "",
                "volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
            },
            "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": "default",
                "name": "data",
                "uid": UID,
                "resourceVersion": "7",
            },
            "csi": {
                "driver": DRIVER,
                "volumeHandle": "disk-1",
                "volumeAttributes": {
                    "storage.kubernetes.io/csiProvisionerIdentity": "provisioner-1"
                },
            },
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
                    ]
                }
            },
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": CLASS,
        },
    }


def test_a_class_without_policy_leaves_it_to_the_api() -> None:
    assert "persistentVolumeReclaimPolicy" not in volume(class_={"reclaimPolicy": None})["spec"]


@pytest.mark.parametrize(
    ("capacity", "shown"),
    [(0, "1Gi"), (GIB, "1Gi"), (3 * GIB // 2, "1536Mi"), (5_000_000_000, "5000000000")],
)
def test_a_volume_is_as_large_as_the_driver_says_or_as_was_asked(capacity: int, shown: str) -> None:
    made = replace(MADE, capacity_bytes=capacity)

    assert volume(made)["spec"]["capacity"] == {"storage": shown}


def test_the_drivers_context_goes_with_the_volume_and_may_replace_our_identity() -> None:
    context = {"pool": "fast", "storage.kubernetes.io/csiProvisionerIdentity": "mine"}

    assert volume(replace(MADE, context=context))["spec"]["csi"]["volumeAttributes"] == context


def test_a_file_system_is_named_unless_the_volume_is_a_device() -> None:
    settings = replace(SETTINGS, default_fs_type="xfs")

    assert volume(settings=settings)["spec"]["csi"]["fsType"] == "xfs"
    device = volume(settings=settings, claim={"volumeMode": "Block"})["spec"]
    assert "fsType" not in device["csi"]
    assert device["volumeMode"] == "Block"


@pytest.mark.parametrize(
    ("modes", "is_read_only"),
    [(["ReadOnlyMany"], True), (["ReadOnlyMany", "ReadWriteOnce"], False), ([], False)],
)
def test_a_volume_that_is_only_read_may_be_published_so(
    modes: list[str], *, is_read_only: bool
) -> None:
    settings = replace(SETTINGS, controller_publish_readonly=True)

    csi = volume(settings=settings, claim={"accessModes": modes})["spec"]["csi"]

    assert csi.get("readOnly", False) == is_read_only


def test_secrets_are_named_for_those_who_use_the_volume_later() -> None:
    parameters = {
        "csi.storage.k8s.io/provisioner-secret-name": "admin",
        "csi.storage.k8s.io/provisioner-secret-namespace": "vault",
        "csi.storage.k8s.io/node-stage-secret-name": "stage",
        "csi.storage.k8s.io/node-stage-secret-namespace": "vault",
        "csi.storage.k8s.io/controller-modify-secret-name": "modify",
        "csi.storage.k8s.io/controller-modify-secret-namespace": "vault",
    }

    made = volume(class_={"parameters": parameters})

    assert made["spec"]["csi"]["nodeStageSecretRef"] == {"name": "stage", "namespace": "vault"}
    annotations = made["metadata"]["annotations"]
    assert annotations["volume.kubernetes.io/provisioner-deletion-secret-name"] == "admin"
    assert annotations["volume.kubernetes.io/controller-modify-secret-name"] == "modify"
    assert "bob" not in str(made)


def test_empty_segments_mean_every_node() -> None:
    made = replace(MADE, segments=({},))

    assert "nodeAffinity" not in volume(made)["spec"]
    compatible = volume(made, settings=COMPATIBLE)["spec"]
    assert compatible["nodeAffinity"] == {"required": {"nodeSelectorTerms": None}}


def test_a_driver_without_topology_binds_the_volume_to_no_node() -> None:
    plain = replace(SETTINGS, plugin_capabilities=frozenset({DriverCapability.CONTROLLER_SERVICE}))

    assert "nodeAffinity" not in volume(settings=plain)["spec"]


PREFERRED, REASON = "plimsoll.dev/preferred-topology", "plimsoll.dev/placement-reason"
PLACED = replace(MADE, context={PREFERRED: '[{"zone":"a"}]', REASON: "Pool a: it has most room."})


def test_what_the_driver_tells_about_the_place_is_kept_on_the_volume() -> None:
    annotations = volume(PLACED)["metadata"]["annotations"]
    assert annotations[PREFERRED] == '[{"zone":"a"}]'
    assert annotations[REASON] == "Pool a: it has most room."


def test_csi_provisioner_does_not_look_at_it() -> None:
    assert (
        not {PREFERRED, REASON}
        & volume(PLACED, settings=COMPATIBLE)["metadata"]["annotations"].keys()
    )


def test_a_preference_that_cannot_be_read_is_left_out() -> None:
    unreadable = replace(MADE, context={PREFERRED: "zone a"})
    assert PREFERRED not in volume(unreadable)["metadata"]["annotations"]
