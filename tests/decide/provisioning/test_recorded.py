"""What is recorded by a PersistentVolume may be in use: it is known by its name or its handle."""

from dataclasses import replace

import msgspec
import pytest

from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.provisioning.recorded import (
    Asset,
    AssetRecording,
    find_doubt,
    find_recording,
    is_recorded,
)


def volume(name: str, handle: str, driver: str = "pools.test") -> PersistentVolume:
    csi = {"driver": driver, "volumeHandle": handle}
    return from_document(PersistentVolume, {"metadata": {"name": name}, "spec": {"csi": csi}})


ASSET = Asset(driver="pools.test", volume_name="pvc-1", volume_id="id-1")


@pytest.mark.parametrize("found", [volume("pvc-1", "id-2"), volume("other", "id-1")])
def test_the_name_or_the_handle_is_enough(found: PersistentVolume) -> None:
    assert is_recorded(ASSET, [volume("else", "id-9"), found])


def test_another_volume_does_not_record_it() -> None:
    assert not is_recorded(ASSET, [])
    assert not is_recorded(ASSET, [volume("other", "id-2")])
    assert not is_recorded(ASSET, [volume("other", "id-1", driver="another.test")])


def test_a_handle_that_was_not_told_is_no_handle() -> None:
    assert not is_recorded(Asset(driver="pools.test", volume_name="pvc-1"), [volume("other", "")])


BY_HANDLE = pytest.mark.parametrize(
    "asset",
    [
        pytest.param(replace(ASSET, number=1), id="numbered"),
        pytest.param(replace(ASSET, node="node-a"), id="of-one-node"),
        pytest.param(replace(ASSET, is_given_up=True), id="given-up"),
    ],
)
"""Others may have recorded a volume of their own under its name."""


@BY_HANDLE
def test_the_handle_alone_tells_of_a_volume_whose_name_others_use_too(asset: Asset) -> None:
    assert is_recorded(asset, [volume("pvc-1", "id-2"), volume("other", "id-1")])
    assert find_recording(asset, [volume("pvc-1", "id-2")]) is AssetRecording.NONE


@BY_HANDLE
def test_whether_a_volume_of_the_name_is_this_one_is_not_known_before_its_handle_is(
    asset: Asset,
) -> None:
    untold = replace(asset, volume_id="")
    assert find_recording(untold, [volume("pvc-1", "id-2")]) is AssetRecording.UNTOLD
    assert find_recording(untold, [volume("other", "id-2")]) is AssetRecording.NONE


@BY_HANDLE
@pytest.mark.parametrize("volume_id", ["id-1", ""], ids=["told", "untold"])
def test_a_volume_of_the_name_whose_handle_cannot_be_compared_counts(
    volume_id: str, asset: Asset
) -> None:
    asset = replace(asset, volume_id=volume_id)
    in_tree = {"metadata": {"name": "pvc-1"}, "spec": {"awsElasticBlockStore": {"volumeID": "1"}}}
    assert is_recorded(asset, [from_document(PersistentVolume, in_tree)])
    assert is_recorded(asset, [volume("pvc-1", "id-1", driver="another.test")])


def by(provisioner: str, found: PersistentVolume) -> PersistentVolume:
    annotations = {"pv.kubernetes.io/provisioned-by": provisioner}
    metadata = msgspec.structs.replace(found.metadata, annotations=annotations)
    return msgspec.structs.replace(found, metadata=metadata)


@pytest.mark.parametrize("number", [0, 1])
def test_a_volume_of_the_name_that_another_provisioner_made_does_not_count(number: int) -> None:
    asset = replace(ASSET, number=number)
    found = by("another.test", volume("pvc-1", "id-2", driver="another.test"))
    assert find_recording(asset, [found]) is AssetRecording.NONE
    assert find_recording(replace(asset, volume_id=""), [found]) is AssetRecording.NONE
    host_path = {"metadata": {"name": "pvc-1"}, "spec": {"hostPath": {"path": "/v/pvc-1"}}}
    made = by("example.com/host-path", from_document(PersistentVolume, host_path))
    assert find_recording(asset, [made]) is AssetRecording.NONE


def test_a_driver_under_another_name_has_the_same_volume() -> None:
    """It may be in use."""
    assert is_recorded(ASSET, [by("another.test", volume("pvc-1", "id-1", driver="another.test"))])


def test_a_plugin_of_kubernetes_stands_for_the_driver_that_took_over_from_it() -> None:
    in_tree = {"metadata": {"name": "pvc-1"}, "spec": {"awsElasticBlockStore": {"volumeID": "1"}}}
    found = by("kubernetes.io/aws-ebs", from_document(PersistentVolume, in_tree))
    assert is_recorded(Asset(driver="ebs.csi.aws.com", volume_name="pvc-1"), [found])


def claim(uid: str = "1", volume_name: str = "") -> PersistentVolumeClaim:
    document = {"metadata": {"name": "data", "uid": uid}, "spec": {"volumeName": volume_name}}
    return from_document(PersistentVolumeClaim, document)


@pytest.mark.parametrize(
    ("current", "is_in_doubt"),
    [
        pytest.param(claim(), False, id="it-has-none"),
        pytest.param(claim(volume_name="other"), False, id="it-has-another-one"),
        pytest.param(claim(volume_name="pvc-1"), True, id="it-has-had-this-one"),
        pytest.param(claim(uid="2"), True, id="it-was-made-anew"),
        pytest.param(None, True, id="it-is-gone"),
    ],
)
def test_the_claim_tells_whether_a_pod_can_have_used_the_volume(
    current: PersistentVolumeClaim | None, *, is_in_doubt: bool
) -> None:
    assert bool(find_doubt(claim(), "pvc-1", current)) is is_in_doubt
