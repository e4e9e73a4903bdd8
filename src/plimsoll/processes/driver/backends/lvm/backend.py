"""The lvm backend: one volume group of one node, volumes as logical volumes named by their ids.

Free capacity is read from the group itself, anew each time; what is promised but not allocated yet
is taken off. A volume is made by one command that tags it as well, so there is
never one of ours that does not say so; what does not say so is never touched.

Only volumes that device-mapper shows as devices can be used, mirrored or copied. Where there is
none the driver says so in its capabilities and in every refusal.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from plimsoll.processes.driver.backends.lvm import content, tags
from plimsoll.processes.driver.backends.lvm.extents import outstanding
from plimsoll.processes.driver.backends.lvm.group import VolumeGroup
from plimsoll.processes.driver.backends.lvm.kernel import device_of, why_no_device_mapper
from plimsoll.processes.driver.backends.lvm.layouts import (
    DEFAULT_FS_TYPE,
    LvmArrangement,
    LvmShape,
    layout_of,
    parse_shape,
    smallest_file_system,
)
from plimsoll.processes.driver.backends.lvm.opening import found_or_made, refuse_without_tools
from plimsoll.processes.driver.backends.lvm.options import (
    Options,
    only_node,
    parse_lvm,
    parse_options,
)
from plimsoll.processes.driver.backends.lvm.report import (
    LogicalVolume,
    PhysicalVolume,
    ReportedGroup,
)
from plimsoll.processes.driver.backends.ownership import owner_of
from plimsoll.processes.driver.backends.protocol import (
    BackendFeatures,
    BackendRequest,
    Charges,
    DeviceSource,
    Extent,
    Pool,
    Source,
    VolumeHealth,
    VolumeLayout,
)
from plimsoll.processes.driver.mount_options import DISCARD
from plimsoll.processes.driver.records import SnapshotRecord, VolumeMode, VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings
from plimsoll.wire.csi.refusals import (
    failed_precondition,
    not_found,
    resource_exhausted,
    unavailable,
    unimplemented,
)

log = logging.getLogger(__name__)

MOUNT_OPTIONS = frozenset({DISCARD})
"""The extents of a volume stay its own, whatever its file system discards of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LvmContext:
    """What a backend is told of the place where it runs."""

    owner: str
    pool: str
    """Groups of different nodes may have the same name; pools may not."""
    topology: Callable[[], Mapping[str, str]]
    """Of its node, at this moment."""
    why_no_devices: str
    """Why there is no device-mapper; empty: there is."""


def make(settings: BackendSettings) -> "LvmBackend":
    """The group itself is looked for on the first occasion. Raises SetupError."""
    options, node = parse_options(settings.options), only_node(settings)
    state_dir = settings.data_dir / "lvm"
    why_no_devices = why_no_device_mapper()
    lvm = parse_lvm(options, node, state_dir, has_device_mapper=not why_no_devices)
    refuse_without_tools()
    state_dir.mkdir(parents=True, exist_ok=True)
    if why_no_devices:
        lacking = "mirrored volumes, snapshots, clones, staging and publishing"
        facts = {"reason": why_no_devices, "lacking": lacking}
        log.warning("volumes cannot be used here", extra=facts)
    context = LvmContext(
        owner=owner_of(state_dir, settings.ids),
        pool=f"{node.id}/{options.volume_group}",
        topology=lambda: {
            **node.topology,
            **settings.homes.told(node.id),
            settings.key("node"): node.id,
        },
        why_no_devices=why_no_devices,
    )
    return LvmBackend(VolumeGroup(lvm), options, context)


class LvmBackend:
    def __init__(self, group: VolumeGroup, options: Options, context: LvmContext) -> None:
        self._group = group
        self._options = options
        self._seen: ReportedGroup | None = None
        """The last report: layouts depend on little of it, and on nothing that changes often."""
        self._owner = context.owner
        self._pool = context.pool
        self._topology = context.topology
        self._why_no_devices = context.why_no_devices
        self._erases = options.erase and not self._why_no_devices
        self.features = features(has_device_mapper=not self._why_no_devices)

    def layout(self, request: BackendRequest) -> VolumeLayout:
        if self._seen is None:
            raise unavailable("the volume group has not been looked at yet; try again")
        devices = request.extents or len(self._seen.physical_volumes)
        shape = parse_shape(request.parameters, devices=devices)
        if shape.arrangement is LvmArrangement.MIRRORED and self._why_no_devices:
            # Of all refusals the one that sends a claim to another node, which may have it.
            raise resource_exhausted(f"a mirrored volume cannot be made: {self._why_no_devices}")
        if request.mode is not VolumeMode.FILESYSTEM:
            return layout_of(shape, extent_bytes=self._seen.extent_bytes)
        needed = smallest_file_system(request.fs_type)
        return replace(
            layout_of(shape, extent_bytes=self._seen.extent_bytes, at_least=needed),
            mounted_as=request.fs_type or DEFAULT_FS_TYPE,
            also_mount_options=MOUNT_OPTIONS,
        )

    async def pools(self, charges: Charges) -> Sequence[Pool]:
        group = await self._read()
        held = [
            volume.held
            for volume in group.volumes.values()
            if tags.is_made_by(self._owner, volume.tags)
        ]
        unmade = outstanding(charges.promised, held, extent_bytes=group.extent_bytes)
        extents = tuple(_extent(group, each, unmade) for each in group.physical_volumes)
        return [Pool(name=self._pool, topology=(self._topology(),), extents=extents)]

    async def settle(
        self, volumes: Sequence[VolumeRecord], snapshots: Sequence[SnapshotRecord]
    ) -> None:
        await self._group.wait_for_others()
        group = await self._read()
        recorded = {each.id for each in volumes} | {each.id for each in snapshots}
        for name, found in group.volumes.items():
            is_ours = tags.is_made_by(self._owner, found.tags) and tags.is_volume(name, found.tags)
            if not is_ours or name in recorded:
                continue
            if tags.is_finished(found.tags) and not self._why_no_devices:
                # Records can be lost, and data must not be lost with them.
                log.warning("volume without a record kept", extra={"volume": name})
                continue
            await self._group.remove(name)
            log.info("volume without a record removed", extra={"volume": name})
        for name in sorted(recorded - group.volumes.keys()):
            log.error("volume lost", extra={"volume": name, "volume_group": group.name})

    async def make(
        self, volume: VolumeRecord, origin: VolumeRecord | SnapshotRecord | None
    ) -> None:
        await self._make(volume, origin)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        await self._make(snapshot, volume)

    async def _make(
        self,
        record: VolumeRecord | SnapshotRecord,
        origin: VolumeRecord | SnapshotRecord | None,
    ) -> None:
        if origin is not None:
            self._refuse_without_devices(f"{origin.id} cannot be copied")
        found = self._find(await self._read(), record.id)
        if found is not None:
            if tags.is_finished(found.tags):
                return
            await self._group.remove(record.id)
        marks = tags.tags_of(record.id, owner=self._owner, name=record.name)
        is_done_by_one_command = bool(self._why_no_devices)
        await self._group.make(
            record.id,
            _shape(record),
            size_bytes=record.size_bytes,
            wanted=_wanted(record),
            tags=marks if is_done_by_one_command else (*marks, tags.UNFINISHED),
        )
        if origin is not None:
            await self._copy(origin, record)
        if not is_done_by_one_command:
            await self._group.finish(record.id)

    async def _copy(
        self,
        origin: VolumeRecord | SnapshotRecord,
        record: VolumeRecord | SnapshotRecord,
    ) -> None:
        group = await self._read()
        source, target = self._existing(group, origin.id), self._existing(group, record.id)
        if source.is_open:
            # Copied while it is written to, it would be a mixture of moments.
            raise failed_precondition(
                f"volume {origin.id} is in use, and a copy would not be of one moment;"
                " delete the pods that use it"
            )
        async with self._active(source), self._active(target):
            await content.copy(source.path, target.path, source.size_bytes)

    @contextlib.asynccontextmanager
    async def _active(self, volume: LogicalVolume) -> AsyncIterator[None]:
        await self._group.activate(volume.name)
        try:
            yield
        finally:
            if not volume.is_active:
                await self._group.deactivate(volume.name)

    async def remove(self, volume: VolumeRecord) -> None:
        was_written = (
            volume.first_published_at is not None or volume.source_volume or volume.source_snapshot
        )
        await self._remove(volume.id, with_content=bool(was_written))

    async def remove_snapshot(self, snapshot: SnapshotRecord) -> None:
        await self._remove(snapshot.id, with_content=True)

    async def _remove(self, name: str, *, with_content: bool) -> None:
        found = self._find(await self._read(), name)
        if found is None:
            return
        if found.is_open:
            raise failed_precondition(f"volume {name} is in use on this node; unmount it first")
        if with_content and self._erases:
            await self._group.activate(name)
            await content.erase(found.path, found.size_bytes)
        await self._group.remove(name)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:
        found = self._existing(await self._read(), volume.id)
        if found.size_bytes < size_bytes:
            await self._group.grow(
                found, _shape(volume), size_bytes=size_bytes, wanted=_wanted(volume)
            )

    async def modify(self, volume: VolumeRecord) -> None:
        _refuse_change(volume)

    async def attach(self, volume: VolumeRecord, node_id: str) -> Mapping[str, str]:
        _refuse_attaching(volume, node_id)

    async def detach(self, volume: VolumeRecord, node_id: str) -> None:
        _refuse_attaching(volume, node_id)

    async def open(self, volume: VolumeRecord, node_id: str) -> Source:
        self._refuse_without_devices(f"volume {volume.id} cannot be used on node {node_id}")
        found = self._existing(await self._read(), volume.id)
        await self._group.activate(found.name)
        return self._source(volume)

    def opened(self, volume: VolumeRecord, node_id: str) -> Source | None:  # noqa: ARG002 - one
        source = self._source(volume)
        return source if source.devices[0].exists() else None

    def _source(self, volume: VolumeRecord) -> DeviceSource:
        device = device_of(self._group.lvm.group, tags.checked(volume.id))
        return DeviceSource(
            devices=(device,),
            fs_type=volume.fs_type or DEFAULT_FS_TYPE,
            also_mount_options=MOUNT_OPTIONS,
        )

    async def close(self, volume: VolumeRecord, node_id: str) -> None:  # noqa: ARG002 - one
        found = self._find(await self._read(), volume.id)
        if found is not None and found.is_active:
            await self._group.deactivate(found.name)

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        group = await self._read()
        found = self._find(group, volume.id)
        if found is None:
            message = f'it is not in volume group "{group.name}" any more'
            return VolumeHealth(abnormal=True, message=message)
        if found.health:
            return VolumeHealth(abnormal=True, message=f"lvm2 reports: {found.health}")
        return VolumeHealth()

    async def _read(self) -> ReportedGroup:
        if self._seen is None:
            self._seen = await found_or_made(self._group, self._options)
        else:
            self._seen = await self._group.read()
        return self._seen

    def _find(self, group: ReportedGroup, name: str) -> LogicalVolume | None:
        """One of that name that is not ours is as good as none."""
        found = group.volumes.get(name)
        return found if found is not None and tags.is_volume(name, found.tags) else None

    def _existing(self, group: ReportedGroup, name: str) -> LogicalVolume:
        found = self._find(group, name)
        if found is None:
            raise not_found(f'volume {name} is not in volume group "{group.name}" any more')
        return found

    def _refuse_without_devices(self, what: str) -> None:
        if self._why_no_devices:
            raise failed_precondition(f"{what}: {self._why_no_devices}")


def features(*, has_device_mapper: bool) -> BackendFeatures:
    return BackendFeatures(
        snapshots=has_device_mapper,
        clones=has_device_mapper,
        expansion=True,
        online_expansion=has_device_mapper,
        modes=frozenset({VolumeMode.FILESYSTEM, VolumeMode.BLOCK}),
        node_service=has_device_mapper,
    )


def _extent(group: ReportedGroup, volume: PhysicalVolume, unmade: Mapping[str, int]) -> Extent:
    free = 0 if group.obstacle else volume.free_count * group.extent_bytes
    return Extent(
        name=volume.uuid,
        total_bytes=volume.extent_count * group.extent_bytes,
        free_bytes=max(0, free - unmade.get(volume.uuid, 0)),
    )


def _shape(record: VolumeRecord | SnapshotRecord) -> LvmShape:
    """As it was made: the group may have got more disks since."""
    return parse_shape(record.parameters, devices=len(record.placement.parts))


def _wanted(record: VolumeRecord | SnapshotRecord) -> dict[str, int]:
    return {part.extent: part.bytes for part in record.placement.parts}


def _refuse_change(volume: VolumeRecord) -> NoReturn:
    raise unimplemented(f"volume {volume.id}: the lvm backend has nothing that could be modified")


def _refuse_attaching(volume: VolumeRecord, node_id: str) -> NoReturn:
    raise unimplemented(f"volume {volume.id} is on node {node_id} without being attached")
