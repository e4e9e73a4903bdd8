"""Records of the driver about volumes, snapshots, leaders and fences; the ledger keeps them."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec


class RecordPhase(StrEnum):
    MAKING = "Making"
    """Its capacity is taken; whether anything exists yet is not known. Undone on the next start."""
    READY = "Ready"
    REMOVING = "Removing"
    """Something of it may be left. Finished on the next start."""


class VolumeMode(StrEnum):
    FILESYSTEM = "Filesystem"
    BLOCK = "Block"


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class Part(LedgerRecord, frozen=True, kw_only=True):
    """What a volume or snapshot takes from one extent."""

    extent: str
    bytes: int


class VolumePlacement(LedgerRecord, frozen=True, kw_only=True):
    pools: tuple[str, ...]
    """More than one for a volume that spans domains: each of them holds all of it."""
    parts: tuple[Part, ...]
    topology: tuple[Mapping[str, str], ...] = ()
    """The segments it is reachable from; empty: from everywhere."""
    near: tuple[Mapping[str, str], ...] = ()
    """Labels of the nodes that it is cheap to use on, the widest domain first; empty: it does not
    matter."""
    reason: str = ""
    """Why it is there, for people."""
    served_from: tuple[Mapping[str, str], ...] = ()
    """The labels of nodes that serve its domain, which callers are told instead of its topology;
    empty: they are told the topology."""


class Attachment(LedgerRecord, frozen=True, kw_only=True):
    node_id: str
    read_only: bool = False
    access_mode: str = ""
    """The name of CSI's access mode that it was attached for."""


class VolumeRecord(LedgerRecord, frozen=True, kw_only=True):
    id: str
    name: str
    """As CreateVolume called it: the key of idempotence."""
    size_bytes: int
    mode: VolumeMode
    fs_type: str = ""
    access_modes: tuple[str, ...] = ()
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    mutable_parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    placement: VolumePlacement
    phase: RecordPhase
    created_at: datetime
    source_volume: str = ""
    source_snapshot: str = ""
    attachments: tuple[Attachment, ...] = ()
    first_published_at: datetime | None = None
    """Kept for ever: a volume that a pod may have written to is never rolled back."""
    filesystem_bytes: int = 0
    """The size that the file system was grown to; 0: never grown."""
    growing_bytes: int = 0
    """The size that it is being grown to, which its placement has already; 0: it is not."""
    is_inline: bool = False
    """A pod specifies it, and it goes when the pod does."""
    is_adopted: bool = False
    """Another program made it, and its mode is not known before it is used."""
    is_foreign: bool = False
    """Another program made it, and what it was asked for is not known."""
    asset_name: str = ""
    """Where drivers share their records: what the storage calls it."""
    revision: int = 0
    """Where drivers share their records: which change of the record this is."""


class EpochRecord(LedgerRecord, frozen=True, kw_only=True):
    """The newest leader of a lease that has changed something here."""

    id: str
    """The lease's namespace and name."""
    lease_created_at: datetime
    transitions: int

    @property
    def name(self) -> str:
        return self.id


class FencePhase(StrEnum):
    FENCING = "Fencing"
    """Nothing new is let in; something in the domain may still write."""
    FENCED = "Fenced"
    RELEASING = "Releasing"


class FenceRecord(LedgerRecord, frozen=True, kw_only=True):
    """A domain that is fenced, or about to be, or about to be released."""

    id: str
    domain: Mapping[str, str]
    phase: FencePhase

    @property
    def is_complete(self) -> bool:
        return self.phase is FencePhase.FENCED

    @property
    def name(self) -> str:
        return self.id


class WithheldMountRecord(LedgerRecord, frozen=True, kw_only=True):
    """Where a fence has made a volume read-only that was writable before."""

    id: str
    """The path."""
    node_id: str
    volume_id: str

    @property
    def name(self) -> str:
        return self.id


class SnapshotRecord(LedgerRecord, frozen=True, kw_only=True):
    id: str
    name: str
    volume_id: str
    size_bytes: int
    """What a volume made from it needs at least."""
    mode: VolumeMode
    fs_type: str = ""
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Of the volume it was taken of: its layout."""
    placement: VolumePlacement
    phase: RecordPhase
    created_at: datetime
    asset_name: str = ""
    revision: int = 0
    """As of volumes."""
