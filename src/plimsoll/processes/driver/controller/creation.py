"""CreateVolume and DeleteVolume.

For one name there is at most one volume, however often CreateVolume is called and wherever the
driver crashes: the record comes first, with its id and the capacity it takes.
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from plimsoll.processes.driver.backends.protocol import (
    BackendRequest,
    ChoosesPlaces,
    PlaceRequest,
    VolumeLayout,
)
from plimsoll.processes.driver.controller.answers import volume_message
from plimsoll.processes.driver.controller.placement import (
    find_place,
    is_reachable,
    largest_place,
)
from plimsoll.processes.driver.controller.reach import with_reach
from plimsoll.processes.driver.controller.requests import (
    SizeRange,
    VolumeRequest,
    parse_create,
    required,
)
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.mount_options import find_problem
from plimsoll.processes.driver.records import (
    RecordPhase,
    SnapshotRecord,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.processes.driver.work import name_key, snapshot_key, volume_key
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from plimsoll.wire.csi.refusals import (
    already_exists,
    failed_precondition,
    invalid_argument,
    out_of_range,
    resource_exhausted,
)
from plimsoll.wire.csi.transport import NO_METADATA, Metadata

DEFAULT_BYTES = 1024**3
"""The size of a volume for which none is asked."""

Origin = VolumeRecord | SnapshotRecord | None


class Creation:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def create_volume(
        self, request: csi.CreateVolumeRequest, metadata: Metadata = NO_METADATA
    ) -> csi.CreateVolumeResponse:
        wanted = parse_create(request, self._driver.backend.features, metadata)

        async def create() -> VolumeRecord:
            return await self._known(wanted) or await self._make(wanted)

        volume = await self._driver.work.alone(create, name_key(wanted.name), shared=_uses(wanted))
        return csi.CreateVolumeResponse(volume=volume_message(self._driver, volume))

    async def _known(self, wanted: VolumeRequest) -> VolumeRecord | None:
        known = await self._driver.records.volumes.find_by_name(wanted.name, wanted.parameters)
        if known is None:
            return None
        if known.phase is not RecordPhase.READY:
            # An attempt that failed, and whose remains could not be removed at the time.
            await self._driver.undo_volume(known)
            return None
        if problem := difference(known, wanted):
            raise already_exists(f"volume {wanted.name}: exists already, {problem}")
        return self._located(known, wanted) if known.is_foreign else known

    def _located(self, known: VolumeRecord, wanted: VolumeRequest) -> VolumeRecord:
        """Of a volume that another program made, the class tells from where it is reachable."""
        layout = self._driver.backend.layout(wanted.backend_request)
        topology = layout.located.get(known.placement.pools[0], ())
        place = msgspec.structs.replace(known.placement, topology=topology)
        return msgspec.structs.replace(known, placement=place)

    async def _make(self, wanted: VolumeRequest) -> VolumeRecord:
        driver = self._driver
        origin = await self._origin(wanted)
        request = wanted.backend_request
        if origin is not None and not wanted.fs_type:
            request = _with_file_system(request, origin)
        layout = driver.backend.layout(request)
        if problem := refused_options(wanted.mount_options, layout):
            raise invalid_argument(f"volume {wanted.name}: {problem}")
        size = chosen_size(wanted.size, layout, at_least=0 if origin is None else origin.size_bytes)
        async with driver.placing:
            place = await self._place(wanted, layout, size, origin)
            record = VolumeRecord(
                id=await driver.records.volumes.new_id(wanted.name, place),
                name=wanted.name,
                size_bytes=size,
                mode=wanted.mode,
                fs_type=request.fs_type,
                access_modes=wanted.access_modes,
                parameters=wanted.parameters,
                mutable_parameters=wanted.mutable_parameters,
                placement=place,
                phase=RecordPhase.MAKING,
                created_at=driver.clock.now(),
                source_volume=wanted.source_volume,
                source_snapshot=wanted.source_snapshot,
                is_inline=wanted.is_inline,
            )
            volume = await driver.records.volumes.put(record)
        return await self._fill(volume, origin)

    async def _fill(self, volume: VolumeRecord, origin: Origin) -> VolumeRecord:
        try:
            await self._driver.backend.make(volume, origin)
        except Exception:
            await self._driver.undo_volume(volume)
            raise
        ready = msgspec.structs.replace(volume, phase=RecordPhase.READY)
        return await self._driver.records.volumes.put(ready)

    async def _place(
        self, wanted: VolumeRequest, layout: VolumeLayout, size: int, origin: Origin
    ) -> VolumePlacement:
        pools = await self._driver.pools()
        if isinstance(backend := self._driver.backend, ChoosesPlaces):
            return backend.choose_place(pools, _place_request(wanted, size, origin))
        requirement = replace(wanted.requirement, served=self._driver.served)
        place = find_place(pools, layout, requirement, size)
        if place is None:
            largest = largest_place(pools, layout, requirement)
            raise resource_exhausted(
                f"volume {wanted.name}: needs {size} bytes, the largest volume there is room for"
                f" where it is wanted has {largest}"
            )
        return with_reach(place, layout, requirement, pools)

    async def _origin(self, wanted: VolumeRequest) -> Origin:
        origin: Origin = None
        if wanted.source_volume:
            origin = await self._driver.volume(wanted.source_volume)
        elif wanted.source_snapshot:
            origin = await self._driver.snapshot(wanted.source_snapshot)
        if origin is not None:
            _check_origin(wanted, origin)
        return origin

    async def delete_volume(self, request: csi.DeleteVolumeRequest) -> csi.DeleteVolumeResponse:
        await self._delete(required(request.volume_id, "volume_id"), only_unpublished=False)
        return csi.DeleteVolumeResponse()

    async def delete_never_published(
        self, request: pools_pb2.DeleteNeverPublishedRequest
    ) -> pools_pb2.DeleteNeverPublishedResponse:
        await self._delete(required(request.volume_id, "volume_id"), only_unpublished=True)
        return pools_pb2.DeleteNeverPublishedResponse()

    async def _delete(self, volume_id: str, *, only_unpublished: bool) -> None:
        known = await self._driver.records.volumes.find(volume_id)
        if known is None:
            return

        async def delete() -> None:
            volume = await self._driver.records.volumes.find(volume_id)
            if volume is None:
                return
            if where := await self._driver.where_in_use(volume):
                raise failed_precondition(f"volume {volume_id}: is in use: {where}")
            if only_unpublished:
                await self._check_never_published(volume)
            await self._driver.remove_volume(volume)

        await self._driver.work.alone(delete, volume_key(volume_id), name_key(known.name))

    async def _check_never_published(self, volume: VolumeRecord) -> None:
        """Raises CsiStatusError."""
        remedy = "a pod may have written to it; delete it with DeleteVolume if that is wanted"
        if volume.first_published_at is not None:
            published = f"was published at {volume.first_published_at}"
            raise failed_precondition(f"volume {volume.id}: {published}, {remedy}")
        if await self._driver.has_foreign_writes(volume):
            written = "holds what another program than this driver has written"
            raise failed_precondition(f"volume {volume.id}: {written}, {remedy}")


def _place_request(wanted: VolumeRequest, size: int, origin: Origin) -> PlaceRequest:
    return PlaceRequest(
        name=wanted.name,
        size_bytes=size,
        backend_request=wanted.backend_request,
        requisite=wanted.requirement.requisite,
        preferred=wanted.requirement.preferred,
        is_delayed=wanted.is_delayed,
        copied_from=() if origin is None else origin.placement.pools,
    )


def _uses(wanted: VolumeRequest) -> tuple[str, ...]:
    """The source, which must not be deleted while the new volume is filled from it."""
    if wanted.source_volume:
        return (volume_key(wanted.source_volume),)
    if wanted.source_snapshot:
        return (snapshot_key(wanted.source_snapshot),)
    return ()


def difference(known: VolumeRecord, wanted: VolumeRequest) -> str:
    """Why the volume of that name is not the one that is asked for; empty: it is. What is not known
    of a volume that another program made is taken to be as it is wanted."""
    is_ours, is_used = not known.is_foreign, not known.is_adopted
    differs = {
        f"with a size of {known.size_bytes} bytes": not wanted.size.holds(known.size_bytes),
        f"as a {known.mode} volume": is_used and known.mode is not wanted.mode,
        f"with file system {known.fs_type}": is_used and wanted.fs_type not in ("", known.fs_type),
        "with other parameters": is_ours and dict(known.parameters) != dict(wanted.parameters),
        "with other mutable parameters": is_ours
        and dict(known.mutable_parameters) != dict(wanted.mutable_parameters),
        "with other content": is_ours
        and (known.source_volume, known.source_snapshot)
        != (wanted.source_volume, wanted.source_snapshot),
        "where it cannot be reached from the topology required": not _is_where_wanted(
            known, wanted
        ),
    }
    return ", ".join(text for text, is_so in differs.items() if is_so)


def refused_options(options: Sequence[str], layout: VolumeLayout) -> str:
    """Why a volume of that layout cannot be mounted with these options; empty: it can."""
    if not layout.mounted_as:
        return ""
    return find_problem(options, layout.mounted_as, also=layout.also_mount_options)


def _is_where_wanted(known: VolumeRecord, wanted: VolumeRequest) -> bool:
    requisite = wanted.requirement.requisite
    return not requisite or any(is_reachable(known.placement.topology, item) for item in requisite)


def chosen_size(wanted: SizeRange, layout: VolumeLayout, *, at_least: int = 0) -> int:
    """The requested size, rounded up to what the backend can make.

    Raises CsiStatusError (OUT_OF_RANGE).
    """
    size = layout.rounded(max(wanted.required_bytes, at_least) or _default(wanted, layout))
    if wanted.limit_bytes and size > wanted.limit_bytes:
        raise out_of_range(
            f"capacity_range: the smallest volume possible here has {size} bytes, more than the"
            f" limit of {wanted.limit_bytes}; raise the limit"
        )
    if layout.maximum_bytes is not None and size > layout.maximum_bytes:
        raise out_of_range(
            f"capacity_range: {size} bytes wanted, volumes of this class have at most"
            f" {layout.maximum_bytes}"
        )
    return size


def _default(wanted: SizeRange, layout: VolumeLayout) -> int:
    bounds = (DEFAULT_BYTES, wanted.limit_bytes, layout.maximum_bytes)
    largest = min(bound for bound in bounds if bound)
    return max(largest // layout.unit_bytes * layout.unit_bytes, layout.minimum_bytes)


def _check_origin(wanted: VolumeRequest, origin: VolumeRecord | SnapshotRecord) -> None:
    if wanted.mode is not origin.mode:
        raise invalid_argument(
            f"volume_content_source: {origin.id} is a {origin.mode} volume and cannot become a"
            f" {wanted.mode} one"
        )
    if wanted.fs_type and origin.fs_type and wanted.fs_type != origin.fs_type:
        raise invalid_argument(
            f"volume_content_source: {origin.id} has file system {origin.fs_type}, which a copy"
            f" keeps; {wanted.fs_type} is wanted"
        )


def _with_file_system(
    request: BackendRequest, origin: VolumeRecord | SnapshotRecord
) -> BackendRequest:
    return BackendRequest(
        parameters=request.parameters,
        mutable_parameters=request.mutable_parameters,
        mode=request.mode,
        fs_type=origin.fs_type,
    )
