from dataclasses import replace
from typing import Any

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.annotations import EXTERNAL_DELETION, MIGRATED_TO, PROVISIONED_BY
from plimsoll.decide.provisioning.calls import CallFailed, Code
from plimsoll.decide.provisioning.deletion import Keep, KeepReason, Removed, Retry, release_volume
from plimsoll.decide.provisioning.failures import Problem
from plimsoll.decide.provisioning.settings import DriverCapability, ProvisionerSettings
from plimsoll.decide.provisioning.topology.node_affinity import node_affinity
from plimsoll.decide.provisioning.volume import DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE
from tests.builders import DRIVER, ZONE
from tests.decide.provisioning.builders import (
    CONTROLLER,
    NAME,
    ON_NODE,
    SETTINGS,
    a_class_document,
    a_volume_document,
    a_world,
    messages,
    volumes_in,
)
from tests.decide.provisioning.world import ATTACHMENTS, CLASSES, VOLUMES, World

TEMPLATE = {
    "csi.storage.k8s.io/provisioner-secret-name": "${pvc.name}",
    "csi.storage.k8s.io/provisioner-secret-namespace": "vault",
}


def deleting(
    *, settings: ProvisionerSettings = SETTINGS, phase: str = "Released", **spec: Any
) -> World:
    world = a_world(settings=settings)
    world.add(VOLUMES, a_volume_document(**spec) | {"status": {"phase": phase}})
    return world


def volume_in(world: World) -> Document:
    return world.documents[VOLUMES, ObjectKey("", NAME)]


def kept(end: object) -> KeepReason:
    assert isinstance(end, Keep), end
    return end.reason


def problem(end: object) -> Problem:
    assert isinstance(end, Retry), end
    return end.failure.problem


def test_asset_volume_and_finalizer_go_in_this_order() -> None:
    world = deleting()

    assert isinstance(world.delete(NAME), Removed)
    assert [call.volume_id for call, _ in world.driver.deleted] == ["disk-1"]
    assert [verb for verb, _ in world.writes] == ["delete", "patch"]
    assert volumes_in(world) == []


def test_the_volume_stays_if_its_asset_could_not_be_deleted() -> None:
    world = deleting()
    world.driver.delete = [CallFailed(Code.FAILED_PRECONDITION, "in use")]

    assert problem(world.delete(NAME)) is Problem.DRIVER_REFUSED
    assert volumes_in(world) == [NAME]
    assert world.writes == []
    assert messages(world) == [
        "Warning VolumeFailedDelete: rpc error: code = FailedPrecondition desc = in use"
    ]


def test_finalizers_of_others_stay() -> None:
    world = deleting()
    volume_in(world)["metadata"]["finalizers"] = ["kubernetes.io/pv-protection", EXTERNAL_DELETION]

    world.delete(NAME)

    assert volume_in(world)["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    assert kept(world.delete(NAME)) is KeepReason.DELETED_ALREADY


def test_who_stopped_half_way_begins_again_at_the_front() -> None:
    world = deleting()
    volume_in(world)["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert isinstance(world.delete(NAME), Removed)
    assert len(world.driver.deleted) == 1
    assert volumes_in(world) == []


@pytest.mark.parametrize("phase", ["Available", "Bound", "Pending", "Failed"])
def test_only_released_volumes_are_deleted(phase: str) -> None:
    assert kept(deleting(phase=phase).delete(NAME)) is KeepReason.NOT_RELEASED


@pytest.mark.parametrize("policy", ["Retain", "Recycle"])
def test_a_policy_that_keeps_the_volume_takes_our_finalizer_off(policy: str) -> None:
    world = deleting(persistentVolumeReclaimPolicy=policy)

    assert kept(world.delete(NAME)) is KeepReason.POLICY
    assert "finalizers" not in volume_in(world)["metadata"]
    assert world.driver.deleted == []


def test_a_bound_volume_that_will_be_ours_to_delete_gets_our_finalizer() -> None:
    world = deleting(phase="Bound")
    volume_in(world)["metadata"]["finalizers"] = ["other"]

    world.delete(NAME)

    assert volume_in(world)["metadata"]["finalizers"] == ["other", EXTERNAL_DELETION]


@pytest.mark.parametrize(
    ("annotations", "driver", "is_ours"),
    [
        pytest.param({PROVISIONED_BY: DRIVER}, DRIVER, True, id="made-by-us"),
        pytest.param({PROVISIONED_BY: "other"}, DRIVER, False, id="made-by-another"),
        pytest.param({PROVISIONED_BY: "old", MIGRATED_TO: DRIVER}, DRIVER, True, id="migrated"),
        pytest.param({}, DRIVER, True, id="made-by-hand-for-our-driver"),
        pytest.param({}, "other", False, id="made-by-hand-for-another"),
    ],
)
def test_a_volume_is_deleted_by_who_made_it_or_else_by_its_driver(
    annotations: dict[str, str], driver: str, *, is_ours: bool
) -> None:
    world = deleting(csi={"driver": driver, "volumeHandle": "disk-1"})
    volume_in(world)["metadata"]["annotations"] = annotations

    assert isinstance(world.delete(NAME), Removed) == is_ours


def test_a_volume_without_a_csi_source_is_complained_about() -> None:
    assert problem(deleting(csi=None).delete(NAME)) is Problem.NOT_CSI


def test_an_attached_volume_is_waited_for() -> None:
    world = deleting()
    source = {"persistentVolumeName": NAME}
    spec = {"nodeName": "node-1", "source": source}
    world.add(ATTACHMENTS, {"metadata": {"name": "attachment"}, "spec": spec})

    assert problem(world.delete(NAME)) is Problem.STILL_ATTACHED
    assert world.driver.deleted == []
    cannot_attach = CONTROLLER - {DriverCapability.PUBLISH_UNPUBLISH_VOLUME}
    world.settings = replace(SETTINGS, controller_capabilities=cannot_attach)
    assert isinstance(world.delete(NAME), Removed), "its driver attaches nothing"


def test_a_driver_that_cannot_delete_is_not_asked() -> None:
    world = deleting(settings=replace(SETTINGS, controller_capabilities=frozenset()))

    assert problem(world.delete(NAME)) is Problem.CAPABILITY_MISSING


# Secrets


def secrets_used(world: World) -> dict[str, str]:
    assert isinstance(world.delete(NAME), Removed)
    ((_, secret),) = world.driver.deleted
    return secret


def test_the_volume_names_the_secret_even_if_its_class_is_gone() -> None:
    world = deleting()
    volume_in(world)["metadata"]["annotations"] |= {
        DELETION_SECRET_NAME: "admin",
        DELETION_SECRET_NAMESPACE: "vault",
    }
    del world.documents[CLASSES, ObjectKey("", "fast")]

    assert secrets_used(world) == {"user": "bob"}


def test_a_volume_that_says_it_needs_no_secret_gets_none() -> None:
    world = deleting()
    world.add(CLASSES, a_class_document(parameters=TEMPLATE))
    volume_in(world)["metadata"]["annotations"] |= {
        DELETION_SECRET_NAME: "",
        DELETION_SECRET_NAMESPACE: "",
    }

    assert secrets_used(world) == {}


def test_a_volume_that_says_nothing_follows_its_class() -> None:
    claim = {"namespace": "default", "name": "admin", "uid": "gone"}
    world = deleting(claimRef=claim)
    world.add(CLASSES, a_class_document(parameters=TEMPLATE))

    assert secrets_used(world) == {"user": "bob"}


def test_a_secret_that_is_gone_does_not_keep_the_volume_alive() -> None:
    world = deleting()
    world.add(CLASSES, a_class_document(parameters=TEMPLATE))

    assert secrets_used(world) == {}


def test_a_template_that_cannot_be_resolved_is_told() -> None:
    world = deleting()
    annotated = TEMPLATE | {"csi.storage.k8s.io/provisioner-secret-name": "${pvc.annotations['x']}"}
    world.add(CLASSES, a_class_document(parameters=annotated))

    assert problem(world.delete(NAME)) is Problem.SECRET_TEMPLATE


# On one node


def test_a_provisioner_on_a_node_deletes_what_its_node_reaches() -> None:
    near, far = (
        deleting(settings=ON_NODE, nodeAffinity=node_affinity([{ZONE: zone}])) for zone in "ab"
    )

    assert isinstance(near.delete(NAME), Removed)
    assert kept(far.delete(NAME)) is KeepReason.OTHER_NODE
    assert isinstance(deleting(settings=ON_NODE).delete(NAME), Removed)


def test_an_affinity_that_cannot_be_read_is_told() -> None:
    expression = {"key": ZONE, "operator": "Almost", "values": ["a"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}

    end = deleting(settings=ON_NODE, nodeAffinity=affinity).delete(NAME)

    assert problem(end) is Problem.AFFINITY


def test_nothing_is_left_to_release_of_a_volume_that_is_gone() -> None:
    assert release_volume(None).writes == ()
