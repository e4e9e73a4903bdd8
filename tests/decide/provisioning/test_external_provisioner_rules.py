"""What every external provisioner and deleter has to do, rule by rule."""

from typing import Any

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.provisioning.calls import CallFailed, Code
from plimsoll.decide.provisioning.deletion import Keep, Removed, Retry
from plimsoll.decide.provisioning.failures import Problem
from plimsoll.decide.provisioning.steps import Ignore, IgnoreReason, ProvisioningRecord, Refuse
from tests.builders import CLASS, DRIVER
from tests.decide.provisioning.builders import (
    CLAIM,
    NAME,
    UID,
    a_claim_document,
    a_class_document,
    a_volume_document,
    a_world,
    annotate,
    claim_in,
    messages,
    reasons,
    volumes_in,
)
from tests.decide.provisioning.world import CLASSES, VOLUMES


@pytest.mark.parametrize("provisioner", ["other", "", None])
def test_claims_of_others_are_ignored(provisioner: str | None) -> None:
    world = a_world()
    annotate(claim_in(world), provisioner=provisioner)

    assert world.provision(CLAIM) == Ignore(reason=IgnoreReason.OTHER_PROVISIONER)
    assert (world.events, world.driver.created) == ([], [])


def test_bound_claims_are_ignored() -> None:
    world = a_world(claim=a_claim_document(volumeName="another"))

    assert world.provision(CLAIM) == Ignore(reason=IgnoreReason.BOUND)
    assert (world.events, world.driver.created) == ([], [])


def test_a_missing_class_is_reported_and_looked_for_again() -> None:
    world = a_world()
    class_ = world.documents.pop((CLASSES, ObjectKey("", CLASS)))

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert end.failure.problem is Problem.CLASS_NOT_FOUND
    assert messages(world) == [f'Warning ProvisioningFailed: storageClass "{CLASS}" not found']
    world.add(CLASSES, class_)
    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


@pytest.mark.parametrize(
    ("class_", "spec"),
    [
        pytest.param({"parameters": {"csi.storage.k8s.io/typo": "x"}}, {}, id="parameter"),
        pytest.param({}, {"selector": {"matchLabels": {"disk": "ssd"}}}, id="selector"),
        pytest.param({}, {"selector": {}}, id="empty-selector"),
    ],
)
def test_unknown_parameters_and_selectors_are_refused_without_provisioning(
    class_: dict[str, Any], spec: dict[str, Any]
) -> None:
    world = a_world(class_=a_class_document(**class_), claim=a_claim_document(**spec))

    assert isinstance(world.provision(CLAIM), Refuse)
    assert reasons(world) == ["Normal Provisioning", "Warning ProvisioningFailed"]
    assert world.driver.created == []


def test_parameters_that_the_driver_does_not_know_are_reported_and_tried_again_later() -> None:
    world = a_world()
    world.driver.create = CallFailed(Code.INVALID_ARGUMENT, "unknown parameter: colour")

    assert isinstance(world.provision(CLAIM), Refuse)
    assert "unknown parameter: colour" in messages(world)[-1]
    assert volumes_in(world) == []


def test_the_volume_names_its_claim_maker_and_class_and_is_no_smaller() -> None:
    world = a_world()
    world.provision(CLAIM)

    volume = world.volume(NAME)

    assert volume is not None
    assert volume.spec.claim_ref is not None
    assert (volume.spec.claim_ref.key, volume.spec.claim_ref.uid) == (CLAIM, UID)
    assert volume.annotations["pv.kubernetes.io/provisioned-by"] == DRIVER
    assert volume.storage_class == CLASS
    claim = world.claim(CLAIM)
    assert claim is not None
    assert volume.spec.capacity_bytes >= claim.spec.requested_bytes
    assert volume.spec.access_modes == claim.spec.access_modes


def test_a_claim_that_takes_another_volume_meanwhile_ends_with_the_asset_deleted() -> None:
    world = a_world()
    made, world.driver.create = world.driver.create, CallFailed(Code.DEADLINE_EXCEEDED)
    world.provision(CLAIM)
    claim_in(world)["spec"]["volumeName"] = "another"
    world.driver.create = made

    assert world.provision(CLAIM) == Ignore(reason=IgnoreReason.ROLLED_BACK)
    assert [call.volume_id for call, _ in world.driver.deleted] == ["disk-1"]
    assert volumes_in(world) == []
    assert world.provision(CLAIM) == Ignore(reason=IgnoreReason.BOUND)


def test_the_deleter_ignores_volumes_whose_policy_is_not_delete() -> None:
    world = a_world()
    world.add(VOLUMES, a_volume_document(persistentVolumeReclaimPolicy="Retain"))

    assert isinstance(world.delete(NAME), Keep)
    assert world.driver.deleted == []


def test_the_deleter_ignores_volumes_of_others() -> None:
    world = a_world()
    document = a_volume_document()
    document["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "other"}
    world.add(VOLUMES, document)

    assert isinstance(world.delete(NAME), Keep)
    assert world.driver.deleted == []


def test_the_volume_is_deleted_only_after_its_asset_and_errors_are_told_and_tried_again() -> None:
    world = a_world()
    world.add(VOLUMES, a_volume_document())
    made, world.driver.delete = world.driver.delete, [CallFailed(Code.INTERNAL, "broken")]

    assert isinstance(world.delete(NAME), Retry)
    assert reasons(world) == ["Warning VolumeFailedDelete"]
    assert volumes_in(world) == [NAME]
    world.driver.delete = made
    assert isinstance(world.delete(NAME), Removed)
    assert volumes_in(world) == []


def test_the_deleter_does_not_need_the_class_of_a_volume_that_we_made() -> None:
    world = a_world()
    world.provision(CLAIM)
    world.documents[VOLUMES, ObjectKey("", NAME)]["status"] = {"phase": "Released"}
    del world.documents[CLASSES, ObjectKey("", CLASS)]

    assert isinstance(world.delete(NAME), Removed)
