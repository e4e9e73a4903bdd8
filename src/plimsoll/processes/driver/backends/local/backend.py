"""The local backend: directories and images on the disks of nodes, and memory.

Which of them a volume is, its class's parameters tell; everything else is the same for all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from plimsoll.processes.driver.backends.local.directories import Directories
from plimsoll.processes.driver.backends.local.disk_space import DiskSpace
from plimsoll.processes.driver.backends.local.disks import IMAGE, SNAPSHOTS, VOLUMES, Disks
from plimsoll.processes.driver.backends.local.files import refusals
from plimsoll.processes.driver.backends.local.forms import (
    COPIES,
    Defaults,
    LocalForm,
    LocalType,
    Medium,
    layout_of,
    parse_form,
    read_form,
)
from plimsoll.processes.driver.backends.local.images import ImageContext, Images
from plimsoll.processes.driver.backends.local.kinds import LocalKind, Recorded
from plimsoll.processes.driver.backends.local.memory import Memory
from plimsoll.processes.driver.backends.local.settling import settle_entries
from plimsoll.processes.driver.backends.ownership import owner_of
from plimsoll.processes.driver.backends.protocol import (
    BackendFeatures,
    BackendRequest,
    Charges,
    Extent,
    Pool,
    Source,
    VolumeHealth,
    VolumeLayout,
)
from plimsoll.processes.driver.records import SnapshotRecord, VolumeMode, VolumeRecord
from plimsoll.processes.driver.settings import (
    BackendSettings,
    Disk,
    Mounts,
    NodeSettings,
    SetupError,
)
from plimsoll.wire.csi.refusals import failed_precondition, invalid_argument, unimplemented

DISKS, MEMORY = "disks", "memory"
LINKED_FEATURES = BackendFeatures(
    snapshots=True, clones=True, expansion=True, online_expansion=True
)
FEATURES = BackendFeatures(
    snapshots=True,
    clones=True,
    expansion=True,
    online_expansion=True,
    modes=frozenset({VolumeMode.FILESYSTEM, VolumeMode.BLOCK}),
)


def make(settings: BackendSettings) -> "LocalBackend":
    """Raises SetupError."""
    return LocalBackend(settings)


class LocalBackend:
    def __init__(self, settings: BackendSettings) -> None:
        nodes = tuple(_with_a_disk(node, settings.data_dir) for node in settings.nodes)
        self._nodes = {node.id: node for node in nodes}
        self._settings = settings
        privileged = settings.mounts is Mounts.REAL
        self.features = FEATURES if privileged else LINKED_FEATURES
        self._defaults = Defaults(privileged=privileged, stripes=_usual_stripes(nodes))
        self._disks = Disks(nodes, _owner(settings))
        self._space = DiskSpace(self._disks)
        self._directories = Directories(self._disks, self._space)
        around = ImageContext(settings.data_dir, settings.ids)
        self._images = Images(self._disks, self._space, around, self._form)
        self._memory = Memory(settings.data_dir)

    def layout(self, request: BackendRequest) -> VolumeLayout:
        form = parse_form(request, self._defaults)
        folder = MEMORY if form.medium is Medium.MEMORY else DISKS
        return layout_of(form, frozenset(f"{node}/{folder}" for node in self._nodes))

    async def pools(self, charges: Charges) -> Sequence[Pool]:
        extents = await self._space.extents(charges)
        pools = [
            Pool(
                name=f"{node.id}/{DISKS}",
                topology=self._topology(node),
                extents=tuple(extents[disk.extent] for disk in self._disks.of_node(node.id)),
            )
            for node in self._nodes.values()
        ]
        pools += (self._memory_pool(node, charges) for node in self._nodes.values())
        return sorted((pool for pool in pools if pool.extents), key=lambda pool: pool.name)

    def _topology(self, node: NodeSettings) -> tuple[Mapping[str, str], ...]:
        told = self._settings.homes.told(node.id)
        return ({self._settings.key("node"): node.id, **node.topology, **told},)

    def _memory_pool(self, node: NodeSettings, charges: Charges) -> Pool:
        name = f"{node.id}/{MEMORY}"
        free = max(0, node.memory_bytes - charges.promised.get(name, 0))
        extent = Extent(name=name, total_bytes=node.memory_bytes, free_bytes=free)
        extents = (extent,) if node.memory_bytes else ()
        return Pool(name=name, topology=self._topology(node), extents=extents)

    async def settle(
        self, volumes: Sequence[VolumeRecord], snapshots: Sequence[SnapshotRecord]
    ) -> None:
        records: list[Recorded] = [*volumes, *snapshots]
        here = [record for record in records if self._is_here(record)]
        for kind in (self._directories, self._memory, self._images):
            if self._defaults.privileged or kind is self._directories:
                await kind.settle([record for record in here if self._kind(record) is kind])
        on_disk = (record for record in here if self._kind(record) is not self._memory)
        await settle_entries(
            self._disks, frozenset(chain.from_iterable(self._paths(record) for record in on_disk))
        )

    def _paths(self, record: Recorded) -> list[Path]:
        is_image = self._form(record).type is LocalType.IMAGE
        return self._candidates(record, f"{record.id}{IMAGE}" if is_image else record.id)

    def _candidates(self, record: Recorded, name: str) -> list[Path]:
        folder = VOLUMES if isinstance(record, VolumeRecord) else SNAPSHOTS
        parts = (part for part in record.placement.parts if self._disks.has(part))
        return [self._disks.path(part, folder, name) for part in parts]

    def _form(self, record: Recorded) -> LocalForm:
        """What it was made as, whatever is usual now."""
        request = BackendRequest(
            parameters=record.parameters,
            mutable_parameters={},
            mode=record.mode,
            fs_type=record.fs_type,
        )
        parts = len(record.placement.parts)
        return read_form(request, self._usual_type(record), max(COPIES, parts))

    def _usual_type(self, record: Recorded) -> LocalType:
        """For a class that named no type: this depends on being root, which may have changed."""
        if any(path.is_dir() for path in self._candidates(record, record.id)):
            return LocalType.DIRECTORY
        if any(path.exists() for path in self._candidates(record, f"{record.id}{IMAGE}")):
            return LocalType.IMAGE
        return self._defaults.type

    def _kind(self, record: Recorded) -> LocalKind:
        form = self._form(record)
        if form.medium is Medium.MEMORY:
            return self._memory
        return self._directories if form.type is LocalType.DIRECTORY else self._images

    def _is_here(self, record: Recorded) -> bool:
        memory = {f"{node}/{MEMORY}" for node in self._nodes}
        parts = record.placement.parts
        return all(self._disks.has(part) or part.extent in memory for part in parts)

    async def make(self, volume: VolumeRecord, origin: Recorded | None) -> None:
        if origin is not None and (problem := _differ(self._form(volume), self._form(origin))):
            raise invalid_argument(f"volume {volume.name}: {origin.id} has {problem}")
        with refusals(f"volume {volume.name}"):
            await self._kind(volume).make(volume, origin)

    async def remove(self, volume: VolumeRecord) -> None:
        with refusals(f"volume {volume.id}"):
            await self._kind(volume).remove(volume)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        with refusals(f"volume {volume.id}"):
            await self._kind(volume).grow(volume, size_bytes)

    async def modify(self, volume: VolumeRecord) -> None:
        raise unimplemented(f"volume {volume.id}: has no parameters that can be changed")

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        with refusals(f"snapshot {snapshot.name}"):
            await self._kind(snapshot).snapshot(snapshot, volume)

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None:
        with refusals(f"snapshot {snapshot.id}"):
            await self._kind(snapshot).remove(snapshot)

    async def attach(self, volume: VolumeRecord, node_id: str) -> Mapping[str, str]:
        raise unimplemented(f"volume {volume.id}: is on node {node_id}, or is not")

    async def detach(self, volume: VolumeRecord, node_id: str) -> None:
        raise unimplemented(f"volume {volume.id}: is on node {node_id}, or is not")

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:
        if not self._is_here(volume) or _node_of(volume) != node_id:
            raise failed_precondition(
                f"volume {volume.id}: is on node {_node_of(volume)}, not on {node_id}, or its disk"
                " is not among the driver's any more"
            )
        with refusals(f"volume {volume.id}"):
            return await self._kind(volume).open(volume)

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:
        if not self._is_here(volume) or _node_of(volume) != node_id:
            return None
        return self._kind(volume).opened(volume)

    async def close(self, volume: VolumeRecord, node_id: str) -> None:
        if _node_of(volume) == node_id:
            with refusals(f"volume {volume.id}"):
                await self._kind(volume).close(volume)

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        if not self._is_here(volume):
            return VolumeHealth(
                abnormal=True, message="its disk is not among the driver's any more"
            )
        return await self._kind(volume).condition(volume)


def _owner(settings: BackendSettings) -> str:
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        return owner_of(settings.data_dir, settings.ids)
    except OSError as error:
        raise SetupError(f"--data-dir: {settings.data_dir}: {error.strerror}") from error


def _with_a_disk(node: NodeSettings, data_dir: Path) -> NodeSettings:
    """A node that was given nothing keeps its volumes beside the records."""
    if node.disks or node.memory_bytes:
        return node
    path = data_dir / "disks" / quote(node.id, safe="")
    return replace(node, disks=(Disk(path=path, create=True),))


def _node_of(volume: VolumeRecord) -> str:
    return volume.placement.pools[0].rpartition("/")[0]


def _usual_stripes(nodes: Sequence[NodeSettings]) -> int:
    """Over all disks, of the node that has fewest of those that have several."""
    return min((len(node.disks) for node in nodes if len(node.disks) >= COPIES), default=COPIES)


def _differ(one: LocalForm, other: LocalForm) -> str:
    """Why the one cannot be a copy of the other; empty: it can."""
    same = (one.type, one.medium, one.arrangement) == (other.type, other.medium, other.arrangement)
    if not same or one.shares != other.shares:
        return "another type, medium or layout; a copy has those of its origin"
    if one.fs_type and other.fs_type and one.fs_type != other.fs_type:
        return f"file system {other.fs_type}, {one.fs_type} is wanted"
    return ""
