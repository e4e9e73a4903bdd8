"""What callers ask for, read and checked once: from messages to types.

What CSI forbids in any case is refused here, and so is what the backend cannot do at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plimsoll.processes.driver.backends.protocol import BackendFeatures, BackendRequest
from plimsoll.processes.driver.controller.placement import Segment, TopologyRequirement
from plimsoll.processes.driver.mount_options import parse_options
from plimsoll.processes.driver.records import VolumeMode
from plimsoll.wire.csi.binding import ClaimBinding, find_binding
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.refusals import invalid_argument
from plimsoll.wire.csi.transport import NO_METADATA, Metadata

NAME_BYTES = 128
"""The longest name, or id, that CSI lets a driver count on."""
METADATA_PREFIX = "csi.storage.k8s.io/"
EPHEMERAL = f"{METADATA_PREFIX}ephemeral"
"""Parameters by which a provisioner names the claim of a volume; they choose nothing."""

AccessMode = csi.VolumeCapability.AccessMode
READERS = frozenset({"SINGLE_NODE_READER_ONLY", "MULTI_NODE_READER_ONLY"})
MULTI_NODE = frozenset(
    {"MULTI_NODE_READER_ONLY", "MULTI_NODE_SINGLE_WRITER", "MULTI_NODE_MULTI_WRITER"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRange:
    required_bytes: int = 0
    limit_bytes: int = 0
    """0: no limit."""

    def holds(self, size_bytes: int) -> bool:
        below = not self.limit_bytes or size_bytes <= self.limit_bytes
        return size_bytes >= self.required_bytes and below


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCapability:
    mode: VolumeMode
    fs_type: str
    access_mode: str
    """By its name in CSI."""
    mount_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeRequest:
    name: str
    size: SizeRange
    mode: VolumeMode
    fs_type: str
    mount_options: tuple[str, ...]
    access_modes: tuple[str, ...]
    parameters: Mapping[str, str]
    mutable_parameters: Mapping[str, str]
    source_volume: str
    source_snapshot: str
    requirement: TopologyRequirement
    is_delayed: bool | None = None
    """Whether the first preferred segment is that of a selected node; None: it is not known."""
    is_inline: bool = False
    """Whether a pod specifies it itself, without a claim."""

    @property
    def backend_request(self) -> BackendRequest:
        return BackendRequest(
            parameters=self.parameters,
            mutable_parameters=self.mutable_parameters,
            mode=self.mode,
            fs_type=self.fs_type,
        )


def parse_create(
    request: csi.CreateVolumeRequest,
    features: BackendFeatures,
    metadata: Metadata = NO_METADATA,
) -> VolumeRequest:
    """Raises CsiStatusError."""
    name = parse_name(request.name, "name")
    capabilities = parse_capabilities(request.volume_capabilities, features)
    source = request.volume_content_source
    mode, fs_type = _one_mode(capabilities)
    return VolumeRequest(
        name=name,
        size=parse_size(request.capacity_range),
        mode=mode,
        fs_type=fs_type,
        mount_options=tuple(option for item in capabilities for option in item.mount_options),
        access_modes=tuple(sorted({item.access_mode for item in capabilities})),
        parameters=parse_parameters(request.parameters),
        mutable_parameters=parse_mutable(request.mutable_parameters, features),
        source_volume=_source_volume(source, features),
        source_snapshot=_source_snapshot(source, features),
        requirement=parse_requirement(request.accessibility_requirements),
        is_delayed=_is_delayed(metadata),
        is_inline=request.parameters.get(EPHEMERAL) == "true",
    )


def _is_delayed(metadata: Metadata) -> bool | None:
    binding = find_binding(metadata)
    return None if binding is None else binding is ClaimBinding.DELAYED


def required(value: str, field: str) -> str:
    if not value:
        raise invalid_argument(f"{field}: must be given")
    return value


def parse_name(value: str, field: str) -> str:
    required(value, field)
    if len(value.encode()) > NAME_BYTES:
        raise invalid_argument(f"{field}: longer than {NAME_BYTES} bytes")
    if not value.isprintable():
        raise invalid_argument(f"{field}: has characters that cannot be printed")
    return value


def parse_size(given: csi.CapacityRange) -> SizeRange:
    wanted = SizeRange(required_bytes=given.required_bytes, limit_bytes=given.limit_bytes)
    if min(wanted.required_bytes, wanted.limit_bytes) < 0:
        raise invalid_argument("capacity_range: must not be negative")
    if wanted.limit_bytes and wanted.required_bytes > wanted.limit_bytes:
        raise invalid_argument(
            f"capacity_range: requires {wanted.required_bytes} bytes, which is more than its limit"
            f" of {wanted.limit_bytes}"
        )
    return wanted


def parse_parameters(given: Mapping[str, str]) -> dict[str, str]:
    return {key: given[key] for key in sorted(given) if not key.startswith(METADATA_PREFIX)}


def parse_mutable(given: Mapping[str, str], features: BackendFeatures) -> dict[str, str]:
    found = parse_parameters(given)
    unknown = sorted(found.keys() - features.mutable_parameters)
    if unknown:
        known = ", ".join(sorted(features.mutable_parameters)) or "none"
        raise invalid_argument(
            f"mutable_parameters: unknown {', '.join(unknown)}; known are {known}"
        )
    return found


def parse_capabilities(
    given: Iterable[csi.VolumeCapability], features: BackendFeatures
) -> tuple[RequestedCapability, ...]:
    capabilities = tuple(parse_capability(item) for item in given)
    if not capabilities:
        raise invalid_argument("volume_capabilities: must be given")
    for item in capabilities:
        if problem := unsupported(item, features):
            raise invalid_argument(f"volume_capabilities: {problem}")
    return capabilities


def parse_capability(given: csi.VolumeCapability) -> RequestedCapability:
    """Raises CsiStatusError for what is no capability at all."""
    access = given.WhichOneof("access_type")
    if access is None:
        raise invalid_argument("volume_capability: access_type must be block or mount")
    number = given.access_mode.mode
    if number not in AccessMode.Mode.values() or number == AccessMode.UNKNOWN:
        raise invalid_argument("volume_capability: access_mode must be given")
    return RequestedCapability(
        mode=VolumeMode.BLOCK if access == "block" else VolumeMode.FILESYSTEM,
        fs_type=given.mount.fs_type,
        access_mode=AccessMode.Mode.Name(number),
        mount_options=parse_options(given.mount.mount_flags),
    )


def unsupported(capability: RequestedCapability, features: BackendFeatures) -> str:
    """Why no volume of this driver has that capability; empty: it may."""
    if capability.mode not in features.modes:
        known = " and ".join(sorted(features.modes))
        return f"{capability.mode} volumes are not offered, only {known}"
    if capability.access_mode in MULTI_NODE and not features.multi_node:
        return f"{capability.access_mode}: these volumes can be used on one node at a time"
    return ""


def _one_mode(capabilities: Iterable[RequestedCapability]) -> tuple[VolumeMode, str]:
    """All capabilities are wanted of the same volume."""
    modes = {item.mode for item in capabilities}
    types = {item.fs_type for item in capabilities if item.fs_type}
    if len(modes) > 1:
        raise invalid_argument("volume_capabilities: one volume cannot be both block and mount")
    if len(types) > 1:
        listed = ", ".join(sorted(types))
        raise invalid_argument(f"volume_capabilities: several file systems wanted: {listed}")
    return modes.pop(), types.pop() if types else ""


def _source_volume(source: csi.VolumeContentSource, features: BackendFeatures) -> str:
    if source.WhichOneof("type") != "volume":
        return ""
    if not features.clones:
        raise invalid_argument("volume_content_source: volumes cannot be copied here")
    return required(source.volume.volume_id, "volume_content_source.volume.volume_id")


def _source_snapshot(source: csi.VolumeContentSource, features: BackendFeatures) -> str:
    if source.WhichOneof("type") != "snapshot":
        return ""
    if not features.snapshots:
        raise invalid_argument("volume_content_source: there are no snapshots here")
    return required(source.snapshot.snapshot_id, "volume_content_source.snapshot.snapshot_id")


def parse_requirement(given: csi.TopologyRequirement) -> TopologyRequirement:
    requisite = tuple(segment_of(item) for item in given.requisite)
    preferred = tuple(segment_of(item) for item in given.preferred)
    # With preferences alone, any of them will do, and no other place.
    return TopologyRequirement(requisite=requisite or preferred, preferred=preferred)


def segment_of(topology: csi.Topology) -> Segment:
    return dict(sorted(topology.segments.items()))
