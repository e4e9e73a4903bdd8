"""What is recorded by a PersistentVolume may be in use: it is known by its name or its handle."""

import pytest

from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.provisioning.recorded import Asset, is_recorded


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
