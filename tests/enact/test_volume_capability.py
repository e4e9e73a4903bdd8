"""What a driver reads is what was decided."""

from plimsoll.decide.provisioning.calls import Block, Mount, VolumeCapability
from plimsoll.enact.volume_capability import capability_message
from plimsoll.wire.csi.gen import csi_pb2 as csi

Mode = csi.VolumeCapability.AccessMode


def test_a_file_system_is_asked_for_with_its_type_flags_and_group() -> None:
    wanted = VolumeCapability("SINGLE_NODE_WRITER", Mount("ext4", ("noatime", "ro"), "2000"))

    message = capability_message(wanted)

    assert message.access_mode.mode == Mode.SINGLE_NODE_WRITER
    assert message.WhichOneof("access_type") == "mount"
    assert message.mount == csi.VolumeCapability.MountVolume(
        fs_type="ext4", mount_flags=["noatime", "ro"], volume_mount_group="2000"
    )


def test_a_device_is_asked_for_without_any_file_system() -> None:
    message = capability_message(VolumeCapability("MULTI_NODE_MULTI_WRITER", Block()))

    assert message.access_mode.mode == Mode.MULTI_NODE_MULTI_WRITER
    assert message.WhichOneof("access_type") == "block"
