"""What drivers can do on a node, and what that means for a volume."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIDriver
from plimsoll.decide.node.desired_volumes import CsiVolume

WRITES_ALONE = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})
POD_NAME = "csi.storage.k8s.io/pod.name"
POD_NAMESPACE = "csi.storage.k8s.io/pod.namespace"
POD_UID = "csi.storage.k8s.io/pod.uid"
SERVICE_ACCOUNT = "csi.storage.k8s.io/serviceAccount.name"
IS_EPHEMERAL = "csi.storage.k8s.io/ephemeral"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFeatures:
    """What a driver says that its node service can do."""

    stages: bool = False
    expands: bool = False
    sets_group: bool = False
    """The driver gives files to a group by itself."""
    tells_writers_apart: bool = False
    """It knows volumes for one pod from volumes for one node."""


class AccessMode(StrEnum):
    """CSI's names."""

    SINGLE_NODE_WRITER = "SINGLE_NODE_WRITER"
    SINGLE_NODE_SINGLE_WRITER = "SINGLE_NODE_SINGLE_WRITER"
    SINGLE_NODE_MULTI_WRITER = "SINGLE_NODE_MULTI_WRITER"
    MULTI_NODE_READER_ONLY = "MULTI_NODE_READER_ONLY"
    MULTI_NODE_MULTI_WRITER = "MULTI_NODE_MULTI_WRITER"


def access_mode(volume: CsiVolume, features: NodeFeatures) -> AccessMode:
    """The first mode of the volume is the one that counts."""
    mode = volume.access_modes[0] if volume.access_modes else "ReadWriteOnce"
    match mode:
        case "ReadOnlyMany":
            return AccessMode.MULTI_NODE_READER_ONLY
        case "ReadWriteMany":
            return AccessMode.MULTI_NODE_MULTI_WRITER
        case "ReadWriteOncePod" if features.tells_writers_apart:
            return AccessMode.SINGLE_NODE_SINGLE_WRITER
        case "ReadWriteOnce" if features.tells_writers_apart:
            return AccessMode.SINGLE_NODE_MULTI_WRITER
        case _:
            return AccessMode.SINGLE_NODE_WRITER


def wants_pod_info(driver: CSIDriver | None) -> bool:
    return driver is not None and driver.spec.pod_info_on_mount is True


def pod_info(pod: Pod, volume: CsiVolume) -> Mapping[str, str]:
    return {
        POD_NAME: pod.name,
        POD_NAMESPACE: pod.namespace,
        POD_UID: pod.uid,
        SERVICE_ACCOUNT: pod.spec.service_account_name,
        IS_EPHEMERAL: "true" if volume.is_inline else "false",
    }


def volume_context(pod: Pod, volume: CsiVolume, driver: CSIDriver | None) -> dict[str, str]:
    told = pod_info(pod, volume) if wants_pod_info(driver) else {}
    return {**volume.attributes, **told}


def group_of(pod: Pod) -> int | None:
    """The group that the pod's files should belong to."""
    context = pod.spec.security_context
    return context.fs_group if context else None


def changes_only_roots(pod: Pod) -> bool:
    """Files are left alone when the volume's root is as it should be."""
    context = pod.spec.security_context
    return context is not None and context.fs_group_change_policy == "OnRootMismatch"


def must_set_group(
    pod: Pod, volume: CsiVolume, driver: CSIDriver | None, features: NodeFeatures
) -> bool:
    """Whether the node has to give the files to the pod's group."""
    if group_of(pod) is None or volume.is_block or volume.is_read_only or features.sets_group:
        return False
    match driver.spec.fs_group_policy if driver else None:
        case "None":
            return False
        case "File":
            return True
        case _:
            writes_alone = volume.is_inline or bool(WRITES_ALONE.intersection(volume.access_modes))
            return bool(volume.fs_type) and writes_alone
