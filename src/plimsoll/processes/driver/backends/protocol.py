"""The interface of a backend. The services in front of it keep all rules of CSI itself.

The services promise: calls for one volume, or one snapshot, never overlap. What the backend is to
make is recorded as `Making` before, with the capacity it takes; what it is to remove is recorded as
`Removing`. A backend promises: `make`, `remove` and their like can be repeated after a crash at any
point, and end in the same state; an attempt that raises has left nothing, or `remove` clears it
away. Refusals are raised as CsiStatusError (`wire.csi.refusals`), with the name of the thing and a
remedy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Protocol, runtime_checkable

from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.ceph.pool_capacity import ThinSpace
from plimsoll.decide.ceph.pool_choice import VolumeReach
from plimsoll.processes.driver.records import (
    SnapshotRecord,
    VolumeMode,
    VolumePlacement,
    VolumeRecord,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendFeatures:
    """What the driver advertises for this backend."""

    snapshots: bool = False
    clones: bool = False
    expansion: bool = False
    online_expansion: bool = False
    attach: bool = False
    """Whether nodes reach a volume only after ControllerPublishVolume."""
    modes: frozenset[VolumeMode] = frozenset({VolumeMode.FILESYSTEM})
    multi_node: bool = False
    """Whether a volume can be used on several nodes at once."""
    node_service: bool = True
    mutable_parameters: frozenset[str] = frozenset()
    """Keys that ControllerModifyVolume takes; empty: it is not advertised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """A part of a pool that holds volumes, or shares of them: a disk."""

    name: str
    total_bytes: int
    free_bytes: int
    """What can be promised now; everything promised before is taken off already."""
    thin: ThinSpace | None = None
    """What a class goes by that has its own factor of overcommit; None: none can have one."""
    is_measured: bool = True
    """False: how much is free is not known yet, and told as nothing."""


def promised(extent: Extent, overcommit: Fraction | None) -> Extent:
    """As a class with that factor sees it."""
    if overcommit is None or extent.thin is None:
        return extent
    return replace(extent, free_bytes=extent.thin.free_bytes(overcommit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    name: str
    topology: tuple[Mapping[str, str], ...]
    """Each segment that its volumes are reachable from; empty: from everywhere."""
    extents: tuple[Extent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeLayout(Cost):
    """What a volume of some class costs, where it may be, and how it is mounted."""

    domains: int = 1
    """In how many pools, of different segments, the whole of it is kept."""
    pools: frozenset[str] | None = None
    """The only pools that will do; None: any."""
    located: Mapping[str, tuple[Mapping[str, str], ...]] = field(default_factory=dict)
    """Where a class says that pools are, by name; others are where the backend says."""
    stored_in: Mapping[str, str] = field(default_factory=dict)
    """Where the bytes of a volume go that is in a pool, if not into the pool itself: another one.
    """
    reach: VolumeReach | None = None
    """From where it can be reached, as its class says; None: from where its pools are."""
    served_from: Mapping[str, tuple[Mapping[str, str], ...]] = field(default_factory=dict)
    """The labels of nodes that serve the domain of a pool, by its name, for volumes that are to be
    reachable from these instead."""
    overcommit: Fraction | None = None
    """How many bytes the class promises for each that there is; None: it does not say."""
    mounted_as: str = ""
    """The list in `mount_options.ALLOWED` that holds for it; empty: it is never mounted."""
    also_mount_options: frozenset[str] = frozenset()
    """What it can be mounted with beyond that list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charges:
    """What is promised, by extent."""

    promised: Mapping[str, int]
    """Everything recorded."""
    unmade: Mapping[str, int]
    """Of that, what is recorded as being made: it may not show in the backend's own figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendRequest:
    """What a class and a request ask for, beyond size and place."""

    parameters: Mapping[str, str]
    mutable_parameters: Mapping[str, str]
    mode: VolumeMode | None
    """None: the request does not say (GetCapacity without capabilities)."""
    fs_type: str
    extents: int = 0
    """How many extents a volume lies on that exists already; 0: it is to be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySource:
    """The volume on this node is a directory, ready to be bound elsewhere."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSource:
    """The volume on this node is a block device, or several that one file system lies on."""

    devices: tuple[Path, ...]
    fs_type: str
    mount_options: tuple[str, ...] = ()
    format_options: tuple[str, ...] = ()
    """For its mkfs, should there be no file system on it yet."""
    also_mount_options: frozenset[str] = frozenset()
    """What callers may ask for beyond the options of every such file system."""


Source = DirectorySource | DeviceSource


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeHealth:
    abnormal: bool = False
    message: str = "the volume is in order"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRequest:
    """A volume that looks for its place."""

    name: str
    size_bytes: int
    backend_request: BackendRequest
    requisite: tuple[Mapping[str, str], ...] = ()
    preferred: tuple[Mapping[str, str], ...] = ()
    is_delayed: bool | None = None
    """Whether the first preferred segment is that of a selected node; None: the caller does not
    say."""
    copied_from: tuple[str, ...] = ()
    """The pools of what its content is copied from."""


@runtime_checkable
class ChoosesPlaces(Protocol):
    """Of a backend that has rules of its own for where volumes go."""

    def choose_place(self, pools: Sequence[Pool], request: PlaceRequest) -> VolumePlacement:
        """Raises CsiStatusError (RESOURCE_EXHAUSTED) that says why there is none."""
        ...


@runtime_checkable
class SeesForeignWrites(Protocol):
    """Of a backend whose volumes other programs find and use without its knowing."""

    async def has_foreign_writes(self, volume: VolumeRecord) -> bool:
        """Whether it holds what this driver has not put there, as far as that can be told. Raises
        CsiStatusError."""
        ...


@runtime_checkable
class ShutsDown(Protocol):
    """Of a backend that has processes or connections to end when the driver ends."""

    async def shut_down(self) -> None: ...


@runtime_checkable
class MendsVolumes(Protocol):
    """Of a backend whose volumes can break on a node while they are open."""

    async def mend(self, volume: VolumeRecord, node_id: str) -> None:
        """A volume that is open works when this returns, wherever it is shown."""
        ...


@runtime_checkable
class CutsNodesOff(Protocol):
    """Of a backend whose storage may refuse a node that has a volume open, for ever."""

    async def is_cut_off(self, volume: VolumeRecord, node_id: str) -> bool:
        """Whether what is open here is old: another node may have written to the volume since."""
        ...


@runtime_checkable
class ShowsDeletedVolumes(Protocol):
    """Of a backend whose volumes can be deleted elsewhere while they are open on this node: after
    the node was cut off, for one. Then no record tells of them any more."""

    def opened_by_id(self, volume_id: str) -> Source | None:
        """What `open` gave for the volume of that id, as far as it is still so."""
        ...

    async def close_by_id(self, volume_id: str) -> None:
        """Undo `open`; nothing of the volume is mounted any more."""
        ...


class Backend(Protocol):
    features: BackendFeatures

    def layout(self, request: BackendRequest) -> VolumeLayout:
        """What such a volume costs. Refuses parameters it does not know, and combinations that
        cannot be."""
        ...

    async def pools(self, charges: Charges) -> Sequence[Pool]:
        """All pools with their free capacity at this moment, sorted by name."""
        ...

    async def settle(
        self, volumes: Sequence[VolumeRecord], snapshots: Sequence[SnapshotRecord]
    ) -> None:
        """On start, after every unfinished record was undone or finished: clear away what belongs
        to no record (files, devices, mounts of ours), and make ready what does."""
        ...

    async def make(
        self, volume: VolumeRecord, origin: VolumeRecord | SnapshotRecord | None
    ) -> None:
        """`origin` is what its content is copied from."""
        ...

    async def remove(self, volume: VolumeRecord) -> None: ...

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        """`volume` is recorded with its new placement already."""
        ...

    async def modify(self, volume: VolumeRecord) -> None:
        """`volume` has its new mutable parameters."""
        ...

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None: ...

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None: ...

    async def attach(self, volume: VolumeRecord, node_id: str) -> Mapping[str, str]:
        """For ControllerPublishVolume: what the node must be told. Only with `features.attach`."""
        ...

    async def detach(self, volume: VolumeRecord, node_id: str) -> None: ...

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:
        """Make the volume available on this node (loop devices, activation); repeatable."""
        ...

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:
        """What `open` gave, as far as it is still so; without any effect."""
        ...

    async def close(self, volume: VolumeRecord, node_id: str) -> None:
        """Undo `open`; nothing of the volume is mounted any more."""
        ...

    async def condition(self, volume: VolumeRecord) -> VolumeHealth: ...
