"""Calls to a driver and their outcomes, as values without protobuf.

Secrets are named here, never held: the process that makes the call reads them, and forgets them
again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from plimsoll.api.volumes import SecretReference

Segment = Mapping[str, str]


class Code(StrEnum):
    """How a call ended. Members are named as Python's gRPC names them, values as events show."""

    CANCELLED = "Canceled"
    UNKNOWN = "Unknown"
    INVALID_ARGUMENT = "InvalidArgument"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    NOT_FOUND = "NotFound"
    ALREADY_EXISTS = "AlreadyExists"
    PERMISSION_DENIED = "PermissionDenied"
    RESOURCE_EXHAUSTED = "ResourceExhausted"
    FAILED_PRECONDITION = "FailedPrecondition"
    ABORTED = "Aborted"
    OUT_OF_RANGE = "OutOfRange"
    UNIMPLEMENTED = "Unimplemented"
    INTERNAL = "Internal"
    UNAVAILABLE = "Unavailable"
    DATA_LOSS = "DataLoss"
    UNAUTHENTICATED = "Unauthenticated"

    @property
    def may_still_be_running(self) -> bool:
        """The driver may be at work: only the same call again tells the outcome."""
        return self in STILL_RUNNING


STILL_RUNNING = frozenset(
    {Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE, Code.ABORTED},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessibilityRequirement:
    """`requisite` says where the volume may be, `preferred` the same, best first."""

    requisite: tuple[Segment, ...]
    preferred: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """The volume is used as a device."""


@dataclass(frozen=True, slots=True)
class Mount:
    """The volume is used as a file system."""

    fs_type: str = ""
    flags: tuple[str, ...] = ()
    group: str = ""
    """The group that shall own its files; empty where the driver does not set it."""


@dataclass(frozen=True, slots=True)
class VolumeCapability:
    access_mode: str
    """A name of CSI's `VolumeCapability.AccessMode.Mode`."""
    access: Block | Mount


@dataclass(frozen=True, slots=True)
class FromSnapshot:
    snapshot_id: str


@dataclass(frozen=True, slots=True)
class FromVolume:
    volume_id: str


ContentSource = FromSnapshot | FromVolume


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateVolumeCall:
    """`capacity_bytes` is the least that will do; no call sets an upper limit."""

    name: str
    capacity_bytes: int
    capabilities: tuple[VolumeCapability, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)
    mutable_parameters: Mapping[str, str] = field(default_factory=dict)
    secret: SecretReference | None = None
    accessibility: AccessibilityRequirement | None = None
    content_source: ContentSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteVolumeCall:
    """If the secret cannot be read, the call is made without it."""

    volume_id: str
    secret: SecretReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetCapacityCall:
    capabilities: tuple[VolumeCapability, ...]
    parameters: Mapping[str, str]
    segment: Segment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedVolume:
    """`capacity_bytes` is zero where the driver does not know it."""

    volume_id: str
    capacity_bytes: int = 0
    context: Mapping[str, str] = field(default_factory=dict)
    content_source: ContentSource | None = None
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class Deleted:
    """The driver deleted the volume, or it did not exist."""


@dataclass(frozen=True, slots=True)
class CapacityReport:
    available_bytes: int


@dataclass(frozen=True, slots=True)
class CallFailed:
    code: Code
    message: str = ""

    def __str__(self) -> str:
        return f"rpc error: code = {self.code} desc = {self.message}"


CreateOutcome = CreatedVolume | CallFailed
DeleteOutcome = Deleted | CallFailed
CapacityOutcome = CapacityReport | CallFailed
