from dataclasses import replace

import pytest

from plimsoll.api.storage import StorageClass
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.calls import Block, Mount, VolumeCapability
from plimsoll.decide.provisioning.failures import RefusalError
from plimsoll.decide.provisioning.request.access_modes import volume_capabilities
from plimsoll.decide.provisioning.settings import DriverCapability, ProvisionerSettings
from tests.decide.provisioning.builders import (
    CONTROLLER,
    SETTINGS,
    a_claim_document,
    a_class_document,
)

FINER = replace(
    SETTINGS, controller_capabilities=CONTROLLER | {DriverCapability.SINGLE_NODE_MULTI_WRITER}
)


def capabilities(
    settings: ProvisionerSettings = SETTINGS, **spec: object
) -> tuple[VolumeCapability, ...]:
    claim = from_document(PersistentVolumeClaim, a_claim_document(**spec))
    class_ = from_document(StorageClass, a_class_document(mountOptions=["noatime"]))
    return volume_capabilities(claim, class_, "xfs", settings)


@pytest.mark.parametrize(
    ("mode", "plain", "finer"),
    [
        ("ReadWriteOnce", "SINGLE_NODE_WRITER", "SINGLE_NODE_MULTI_WRITER"),
        ("ReadWriteOncePod", "SINGLE_NODE_WRITER", "SINGLE_NODE_SINGLE_WRITER"),
        ("ReadOnlyMany", "MULTI_NODE_READER_ONLY", "MULTI_NODE_READER_ONLY"),
        ("ReadWriteMany", "MULTI_NODE_MULTI_WRITER", "MULTI_NODE_MULTI_WRITER"),
    ],
)
def test_a_mode_is_said_as_finely_as_the_driver_understands(
    mode: str, plain: str, finer: str
) -> None:
    assert capabilities(accessModes=[mode])[0].access_mode == plain
    assert capabilities(FINER, accessModes=[mode])[0].access_mode == finer


def test_each_mode_becomes_a_capability_with_the_class_s_mount_options() -> None:
    mount = Mount("xfs", ("noatime",))

    assert capabilities(accessModes=["ReadWriteOnce", "ReadOnlyMany"]) == (
        VolumeCapability("SINGLE_NODE_WRITER", mount),
        VolumeCapability("MULTI_NODE_READER_ONLY", mount),
    )


def test_a_raw_device_has_neither_file_system_nor_mount_options() -> None:
    assert capabilities(volumeMode="Block") == (VolumeCapability("SINGLE_NODE_WRITER", Block()),)


def test_a_claim_without_modes_asks_for_none() -> None:
    assert capabilities(accessModes=[]) == ()


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(RefusalError, match="WriteOnFriday"):
        capabilities(accessModes=["ReadWriteOnce", "WriteOnFriday"])
