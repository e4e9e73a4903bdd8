from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.calls import ContentSource, FromSnapshot, FromVolume
from plimsoll.decide.provisioning.failures import Problem, ProvisioningState, RefusalError
from plimsoll.decide.provisioning.request.sources import (
    ALLOW_MODE_CHANGE,
    CLONE_PROTECTION,
    SNAPSHOT_PROTECTION,
    Filling,
    Populator,
    ResolvedSource,
    SourceKind,
    content_source,
    find_source,
)
from plimsoll.decide.provisioning.settings import ProvisionerMode, ProvisionerSettings
from tests.decide.provisioning.builders import (
    SETTINGS,
    a_claim_document,
    a_class_document,
)
from tests.decide.provisioning.sources import (
    FROM_CLAIM,
    FROM_SNAPSHOT,
    a_source_world,
    claim_in,
    content_in,
    snapshot_in,
    volume_in,
)
from tests.decide.provisioning.world import CLAIMS, CONTENTS, SNAPSHOTS, VOLUMES, World

Change = Callable[[World], Any]


def claim_of(**spec: Any) -> PersistentVolumeClaim:
    return from_document(PersistentVolumeClaim, a_claim_document(**spec))


def filled(world: World, settings: ProvisionerSettings = SETTINGS, **spec: Any) -> ContentSource:
    claim = claim_of(**spec)
    source = find_source(claim)
    assert isinstance(source, ResolvedSource)
    class_ = from_document(StorageClass, a_class_document())
    return content_source(Filling(claim, class_, settings, source), world)


def refused(find: Callable[[], object]) -> tuple[Problem, ProvisioningState]:
    with pytest.raises(RefusalError) as refusal:
        find()
    return refusal.value.failure.problem, refusal.value.failure.state


UNUSABLE = (Problem.SOURCE_UNUSABLE, ProvisioningState.NO_CHANGE)


def test_data_source_counts_before_data_source_ref() -> None:
    other = {"kind": "Populated", "name": "other"}

    found = find_source(claim_of(dataSource=FROM_CLAIM, dataSourceRef=other))

    assert found == ResolvedSource(SourceKind.CLAIM, ObjectKey("default", "source"))
    assert find_source(claim_of(dataSourceRef=FROM_CLAIM)) == found
    assert find_source(claim_of()) is None


def test_a_kind_that_the_provisioner_does_not_know_is_left_to_populators() -> None:
    assert find_source(claim_of(dataSource={"kind": "Hello", "name": "x"})) == Populator("Hello")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"dataSource": FROM_CLAIM | {"name": ""}}, Problem.SOURCE_WITHOUT_NAME),
        ({"dataSource": FROM_SNAPSHOT | {"apiGroup": "x.io"}}, Problem.SOURCE_API_GROUP),
        ({"dataSourceRef": FROM_CLAIM | {"namespace": "other"}}, Problem.CROSS_NAMESPACE),
    ],
)
def test_a_source_that_can_never_be_used_is_refused_for_good(
    spec: Document, expected: Problem
) -> None:
    assert refused(lambda: find_source(claim_of(**spec))) == (expected, ProvisioningState.FINISHED)


def test_a_claim_is_cloned_from_its_volume() -> None:
    assert filled(a_source_world(), dataSource=FROM_CLAIM) == FromVolume("disk-0")


def test_a_claim_that_is_being_cloned_is_used_although_it_is_being_deleted() -> None:
    world = a_source_world()
    claim_in(world)["metadata"].update(
        deletionTimestamp="2026-01-01T00:00:00Z", finalizers=[CLONE_PROTECTION]
    )

    assert filled(world, dataSource=FROM_CLAIM) == FromVolume("disk-0")
    compatible = replace(SETTINGS, mode=ProvisionerMode.COMPATIBLE)
    assert refused(lambda: filled(world, compatible, dataSource=FROM_CLAIM)) == UNUSABLE


def test_a_clone_may_be_larger_than_its_source_but_not_smaller() -> None:
    world = a_source_world()
    larger = {"requests": {"storage": "2Gi"}}
    smaller = {"requests": {"storage": "1Mi"}}

    assert filled(world, dataSource=FROM_CLAIM, resources=larger) == FromVolume("disk-0")
    assert refused(lambda: filled(world, dataSource=FROM_CLAIM, resources=smaller)) == UNUSABLE


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda w: w.documents.pop((CLAIMS, ObjectKey("default", "source"))), id="gone"
        ),
        pytest.param(lambda w: claim_in(w).update(status={"phase": "Pending"}), id="not-bound"),
        pytest.param(
            lambda w: claim_in(w)["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"),
            id="being-deleted",
        ),
        pytest.param(lambda w: claim_in(w)["spec"].pop("storageClassName"), id="without-class"),
        pytest.param(lambda w: claim_in(w)["spec"].pop("volumeName"), id="without-volume"),
        pytest.param(lambda w: w.documents.pop((VOLUMES, ObjectKey("", "disk"))), id="volume-gone"),
        pytest.param(lambda w: volume_in(w)["spec"].pop("csi"), id="not-csi"),
        pytest.param(lambda w: volume_in(w)["spec"]["csi"].update(driver="x"), id="other-driver"),
        pytest.param(lambda w: volume_in(w)["spec"].pop("claimRef"), id="of-no-claim"),
        pytest.param(lambda w: volume_in(w)["spec"]["claimRef"].update(uid="x"), id="of-another"),
        pytest.param(lambda w: volume_in(w).update(status={"phase": "Released"}), id="released"),
        pytest.param(lambda w: volume_in(w)["spec"].update(volumeMode="Block"), id="other-mode"),
    ],
)
def test_a_claim_that_cannot_be_cloned_now_is_waited_for(change: Change) -> None:
    world = a_source_world()
    change(world)

    assert refused(lambda: filled(world, dataSource=FROM_CLAIM)) == UNUSABLE


def test_a_snapshot_is_restored_by_its_handle() -> None:
    assert filled(a_source_world(), dataSource=FROM_SNAPSHOT) == FromSnapshot("snap-0")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda w: w.documents.pop((SNAPSHOTS, ObjectKey("default", "snap"))), id="gone"
        ),
        pytest.param(lambda w: snapshot_in(w).pop("status"), id="without-status"),
        pytest.param(
            lambda w: snapshot_in(w)["status"].pop("boundVolumeSnapshotContentName"), id="unbound"
        ),
        pytest.param(lambda w: snapshot_in(w)["status"].update(readyToUse=False), id="not-ready"),
        pytest.param(lambda w: snapshot_in(w)["status"].update(restoreSize="2Gi"), id="too-large"),
        pytest.param(
            lambda w: snapshot_in(w)["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"),
            id="being-deleted",
        ),
        pytest.param(
            lambda w: w.documents.pop((CONTENTS, ObjectKey("", "content"))), id="content-gone"
        ),
        pytest.param(
            lambda w: content_in(w)["spec"]["volumeSnapshotRef"].update(uid="x"), id="of-another"
        ),
        pytest.param(lambda w: content_in(w)["spec"].update(driver="x"), id="other-driver"),
        pytest.param(lambda w: content_in(w).pop("status"), id="without-handle"),
    ],
)
def test_a_snapshot_that_cannot_be_restored_now_is_waited_for(change: Change) -> None:
    world = a_source_world()
    change(world)

    assert refused(lambda: filled(world, dataSource=FROM_SNAPSHOT)) == UNUSABLE


def test_a_snapshot_that_a_volume_is_being_made_from_is_used_although_it_is_being_deleted() -> None:
    world = a_source_world()
    snapshot_in(world)["metadata"] |= {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": [SNAPSHOT_PROTECTION],
    }

    assert filled(world, dataSource=FROM_SNAPSHOT) == FromSnapshot("snap-0")


@pytest.mark.parametrize("allowed", [None, "false", "perhaps"])
def test_a_snapshot_is_not_restored_into_another_mode_without_permission(
    allowed: str | None,
) -> None:
    world = a_source_world()
    if allowed is not None:
        content_in(world)["metadata"]["annotations"][ALLOW_MODE_CHANGE] = allowed

    def restore() -> object:
        return filled(world, dataSource=FROM_SNAPSHOT, volumeMode="Block")

    assert refused(restore) == UNUSABLE


def test_another_mode_may_be_allowed_for_one_snapshot_or_for_all() -> None:
    world = a_source_world()
    lax = replace(SETTINGS, prevent_volume_mode_conversion=False)

    restored = FromSnapshot("snap-0")
    assert filled(world, lax, dataSource=FROM_SNAPSHOT, volumeMode="Block") == restored
    content_in(world)["metadata"]["annotations"][ALLOW_MODE_CHANGE] = "true"
    assert filled(world, dataSource=FROM_SNAPSHOT, volumeMode="Block") == restored
