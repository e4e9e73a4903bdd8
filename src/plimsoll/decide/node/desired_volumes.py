"""What a pod's volume is, once its claim and its PersistentVolume have been looked up.

A closed union: a volume of a CSI driver, a volume that the node makes itself, or something that
keeps the pod waiting, with the sentence for its user.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod, PodVolume
from plimsoll.api.selectors.node import NO_TERM_MATCHES, NodeSelector
from plimsoll.api.volumes import (
    BLOCK,
    CsiSource,
    PersistentVolume,
    PersistentVolumeClaim,
    SecretReference,
)
from plimsoll.decide.annotations import ROLLING_BACK
from plimsoll.decide.claims.protection import is_for_pod
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.csi.in_tree import inline_source, translated
from plimsoll.decide.node.paths import inline_handle


@dataclass(frozen=True, slots=True, kw_only=True)
class CsiVolume:
    """Everything that calls to a driver need of a volume."""

    name: str
    """The PersistentVolume's name; of an inline volume, the name that the pod gives it."""
    device: Device
    is_inline: bool = False
    """Made inside the pod, by the driver alone."""
    is_block: bool = False
    is_read_only: bool = False
    fs_type: str = ""
    access_modes: tuple[str, ...] = ()
    mount_options: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    stage_secret: SecretReference | None = None
    publish_secret: SecretReference | None = None
    expand_secret: SecretReference | None = None
    claim: PersistentVolumeClaim | None = None
    capacity: str = ""
    """Of the PersistentVolume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnVolume:
    """A volume that needs no driver. Without a path it is an empty directory of the pod's."""

    name: str
    plugin: str
    path: str = ""
    """Somewhere on the node; the pod's directory has a link to it."""
    must_exist: bool = False
    claim: PersistentVolumeClaim | None = None
    """None: the pod describes the volume itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unready:
    """Why the pod has to wait, until one of its objects changes."""

    name: str
    """As that of the volume would be, if that is known."""
    message: str


DesiredVolume = CsiVolume | OwnVolume | Unready


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The objects by which volumes are looked up."""

    node: Node
    claims: Mapping[ObjectKey, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)


OWN_DIRECTORIES = {
    "empty_dir": "empty-dir",
    "config_map": "configmap",
    "secret": "secret",
    "projected": "projected",
    "downward_api": "downward-api",
}


def desired_volumes(pod: Pod, storage: Storage) -> list[DesiredVolume]:
    """In the order in which the pod names them."""
    return [wanted_volume(pod, volume, storage) for volume in pod.spec.volumes]


def wanted_volume(pod: Pod, volume: PodVolume, storage: Storage) -> DesiredVolume:
    if pod.claim_of(volume) is not None:
        return _claimed(pod, volume, storage)
    if volume.csi is not None:
        return _inline(pod, volume, volume.csi)
    return _by_itself(volume)


# Volumes that a pod describes itself


def _inline(pod: Pod, volume: PodVolume, source: CsiSource) -> CsiVolume:
    secret = source.node_publish_secret_ref
    return CsiVolume(
        name=volume.name,
        device=Device(source.driver, inline_handle(pod.uid, volume.name)),
        is_inline=True,
        is_read_only=source.read_only,
        fs_type=source.fs_type,
        attributes=source.volume_attributes,
        # A pod reaches no secret outside of its namespace.
        publish_secret=(
            SecretReference(name=secret.name, namespace=pod.namespace) if secret else None
        ),
    )


def _by_itself(volume: PodVolume) -> DesiredVolume:
    for field_, plugin in OWN_DIRECTORIES.items():
        if getattr(volume, field_) is not None:
            return OwnVolume(name=volume.name, plugin=plugin)
    if volume.host_path is not None:
        return OwnVolume(name=volume.name, plugin="host-path", path=volume.host_path.path)
    source = _translated_inline(volume)
    if source is not None:
        device = Device(source.driver, source.volume_handle)
        return CsiVolume(name=volume.name, device=device, fs_type=source.fs_type)
    message = f'volume "{volume.name}": plimsoll node has no support for volumes of this type'
    return Unready(name=volume.name, message=message)


def _translated_inline(volume: PodVolume) -> CsiSource | None:
    try:
        return inline_source(volume)
    except ValueError:
        return None


# Volumes behind claims


def _claimed(pod: Pod, volume: PodVolume, storage: Storage) -> DesiredVolume:
    key = pod.claim_of(volume) or ObjectKey("", "")
    claim = storage.claims.get(key)
    problem = _claim_problem(pod, volume, claim)
    if claim is None or problem:
        message = f'claim "{key.name}" of volume "{volume.name}" {problem}'
        name = claim.spec.volume_name if claim is not None else ""
        return Unready(name=name or volume.name, message=message)
    found = storage.volumes.get(claim.spec.volume_name)
    if found is None or not _is_kept_for(found, claim):
        why = "does not exist" if found is None else "is kept for another claim"
        message = f'volume "{claim.spec.volume_name}" of claim "{claim.name}" {why}'
        return Unready(name=claim.spec.volume_name, message=message)
    seen = _as_seen_by_drivers(found)
    problem = affinity_problem(seen, storage.node) or _mode_problem(pod, volume, seen)
    if problem:
        return Unready(name=seen.name, message=problem)
    return _persistent(volume, claim, seen)


def _claim_problem(pod: Pod, volume: PodVolume, claim: PersistentVolumeClaim | None) -> str:
    if claim is None:
        return "does not exist"
    if volume.ephemeral is not None and not is_for_pod(claim, pod):
        return "was not made for this pod"
    if claim.is_being_deleted:
        return "is being deleted"
    if ROLLING_BACK in claim.annotations:
        return "is being rolled back"
    if claim.status.phase != "Bound" or not claim.spec.volume_name:
        return "is not bound"
    return ""


def _is_kept_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    reference = volume.spec.claim_ref
    return reference is not None and reference.uid == claim.uid


def _as_seen_by_drivers(volume: PersistentVolume) -> PersistentVolume:
    try:
        return translated(volume)
    except ValueError:
        return volume


def _persistent(
    entry: PodVolume, claim: PersistentVolumeClaim, volume: PersistentVolume
) -> DesiredVolume:
    spec = volume.spec
    if spec.csi is not None:
        return _of_driver(entry, claim, volume, spec.csi)
    if spec.local is not None:
        return OwnVolume(
            name=volume.name,
            plugin="local-volume",
            path=spec.local.path,
            must_exist=True,
            claim=claim,
        )
    if spec.host_path is not None:
        path = spec.host_path.path
        return OwnVolume(name=volume.name, plugin="host-path", path=path, claim=claim)
    message = f'volume "{volume.name}": plimsoll node has no support for volumes of this type'
    return Unready(name=volume.name, message=message)


def _of_driver(
    entry: PodVolume, claim: PersistentVolumeClaim, volume: PersistentVolume, source: CsiSource
) -> CsiVolume:
    spec = volume.spec
    in_pod = entry.persistent_volume_claim
    return CsiVolume(
        name=volume.name,
        device=Device(source.driver, source.volume_handle),
        is_block=spec.volume_mode == BLOCK,
        is_read_only=in_pod.read_only if in_pod else False,
        fs_type=source.fs_type,
        access_modes=spec.access_modes,
        mount_options=spec.mount_options,
        attributes=source.volume_attributes,
        stage_secret=source.node_stage_secret_ref,
        publish_secret=source.node_publish_secret_ref,
        expand_secret=source.node_expand_secret_ref,
        claim=claim,
        capacity=spec.capacity.get("storage", ""),
    )


def affinity_problem(volume: PersistentVolume, node: Node) -> str:
    """Empty if the volume can be reached from the node."""
    required = volume.spec.required_nodes
    if required is None:
        return ""
    selector = NodeSelector.of(required)
    if selector.matches(node.labels, node.name):
        return ""
    return (
        f'MountVolume.NodeAffinity check failed for volume "{volume.name}" : '
        f"{selector.complaint or NO_TERM_MATCHES}: "
        f'the labels of node "{node.name}" do not meet its node affinity'
    )


def _mode_problem(pod: Pod, entry: PodVolume, volume: PersistentVolume) -> str:
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    is_block = volume.spec.volume_mode == BLOCK
    uses = [use for c in containers for use in (c.volume_mounts if is_block else c.volume_devices)]
    if entry.name not in {use.name for use in uses}:
        return ""
    mode, where = ("Block", "volumeMounts") if is_block else ("Filesystem", "volumeDevices")
    return f'volume "{entry.name}" has volumeMode {mode}, but is specified in {where}'
