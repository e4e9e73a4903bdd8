"""How a claim's access modes and volume mode are said in CSI's words."""

from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import BLOCK, PersistentVolumeClaim
from plimsoll.decide.provisioning.calls import Block, Mount, VolumeCapability
from plimsoll.decide.provisioning.failures import Problem, refuse
from plimsoll.decide.provisioning.settings import DriverCapability, ProvisionerSettings

READER_ONLY = "MULTI_NODE_READER_ONLY"

MODES = {
    "ReadWriteOnce": "SINGLE_NODE_WRITER",
    "ReadOnlyMany": READER_ONLY,
    "ReadWriteMany": "MULTI_NODE_MULTI_WRITER",
    # A driver that cannot tell one pod from several on a node is asked for the node.
    "ReadWriteOncePod": "SINGLE_NODE_WRITER",
}
FINER_MODES = MODES | {
    "ReadWriteOnce": "SINGLE_NODE_MULTI_WRITER",
    "ReadWriteOncePod": "SINGLE_NODE_SINGLE_WRITER",
}
"""For drivers that can tell pods on the same node apart."""


def is_block(claim: PersistentVolumeClaim) -> bool:
    return claim.spec.volume_mode == BLOCK


def volume_capabilities(
    claim: PersistentVolumeClaim,
    class_: StorageClass,
    fs_type: str,
    settings: ProvisionerSettings,
) -> tuple[VolumeCapability, ...]:
    """One for each mode of the claim, in its order."""
    is_finer = DriverCapability.SINGLE_NODE_MULTI_WRITER in settings.controller_capabilities
    modes = FINER_MODES if is_finer else MODES
    access = Block() if is_block(claim) else Mount(fs_type, class_.mount_options)
    unknown = [mode for mode in claim.spec.access_modes if mode not in modes]
    if unknown:
        refuse(Problem.ACCESS_MODE, f"unsupported AccessMode combination: [{unknown[0]}]")
    return tuple(VolumeCapability(modes[mode], access) for mode in claim.spec.access_modes)
