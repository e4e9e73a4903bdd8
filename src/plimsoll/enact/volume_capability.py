"""How a volume is meant to be used, as the message that CSI drivers get.

Every process that calls a driver translates here, so that a volume is created, attached, staged and
published with the same message.
"""

from plimsoll.decide.provisioning.calls import Block, VolumeCapability
from plimsoll.wire.csi.gen import csi_pb2 as csi


def capability_message(capability: VolumeCapability) -> csi.VolumeCapability:
    mode = csi.VolumeCapability.AccessMode(mode=capability.access_mode)
    access = capability.access
    if isinstance(access, Block):
        return csi.VolumeCapability(block=csi.VolumeCapability.BlockVolume(), access_mode=mode)
    mount = csi.VolumeCapability.MountVolume(
        fs_type=access.fs_type, mount_flags=access.flags, volume_mount_group=access.group
    )
    return csi.VolumeCapability(mount=mount, access_mode=mode)
