"""How a volume is meant to be used, in CSI's words.

A volume may name several access modes, a call only one: the widest stands for all of them.
"""

from plimsoll.api.volumes import BLOCK, VolumeSpec
from plimsoll.decide.provisioning.calls import Block, Mount, VolumeCapability
from plimsoll.decide.provisioning.request.access_modes import FINER_MODES, MODES

SINGLE_POD, SHARED = "ReadWriteOncePod", "ReadWriteMany"
ONE_NODE, READERS = "ReadWriteOnce", "ReadOnlyMany"


def parse_capability(spec: VolumeSpec, *, finer_modes: bool) -> VolumeCapability:
    """`finer_modes`: the driver tells several pods on a node from one.

    Raises ValueError for modes that cannot be had together.
    """
    fs_type = spec.csi.fs_type if spec.csi is not None else ""
    access = Block() if spec.volume_mode == BLOCK else Mount(fs_type, spec.mount_options)
    mode = _widest(spec.access_modes)
    return VolumeCapability((FINER_MODES if finer_modes else MODES)[mode], access)


def _widest(modes: tuple[str, ...]) -> str:
    named = set(modes)
    if SINGLE_POD in named:
        if len(named) > 1:
            raise ValueError(
                "Kubernetes does not support use of ReadWriteOncePod with other access modes "
                "on the same PersistentVolume"
            )
        return SINGLE_POD
    if SHARED in named:
        return SHARED
    if {READERS, ONE_NODE} <= named:
        raise ValueError(
            "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume"
        )
    for mode in (READERS, ONE_NODE):
        if mode in named:
            return mode
    raise ValueError(f"unsupported AccessMode combination: [{' '.join(modes)}]")
