"""Images on one node: opened as devices under a lease, and closed again.

An image that is open here has the lease of this node, with the address of the client that shows it.
"""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from plimsoll.decide.ceph.journal.places import ImagePlace
from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.backends.ceph.ceph_cluster import failures_of
from plimsoll.processes.driver.backends.ceph.domains.located_nodes import LocatedNodes
from plimsoll.processes.driver.backends.ceph.records.cluster_records import ClusterRecords
from plimsoll.processes.driver.backends.ceph.records.writer_leases import parse_lease
from plimsoll.processes.driver.backends.protocol import DeviceSource, Source
from plimsoll.processes.driver.backends.rbd.fuse_devices import FuseDevices
from plimsoll.processes.driver.node.filesystems import EXT4
from plimsoll.processes.driver.records import VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.images import RbdImages
from plimsoll.wire.csi.refusals import failed_precondition

TRIES = 50
PAUSE = timedelta(milliseconds=100)


class NodeImages:
    def __init__(
        self,
        connection: CephConnection,
        devices: FuseDevices,
        records: ClusterRecords,
        settings: BackendSettings,
    ) -> None:
        self._connection = connection
        self._devices = devices
        self._records = records
        self._clock = settings.clock
        self._located = LocatedNodes(settings)

    async def open(self, volume: VolumeRecord, place: ImagePlace, node_id: str) -> Source:
        """Raises CsiStatusError."""
        if (present := self._devices.find(place.name)) is not None:
            await self.check(volume, node_id)
            if not await self._records.leases.is_confirmed(volume):
                # A driver died before it wrote the client down: no fence would find it.
                await self._confirm(volume, place, node_id)
            with failures_of(_name(volume)):
                await self._devices.resize(place.name)
            return _source(volume, present)
        with failures_of(_name(volume)):
            # rbd-fuse would wait for a pool that is down, or show an empty directory.
            await _images(self._connection, place).facts(place.name)
        if self._devices.is_shown(place.name):
            # A driver died while it opened the image. Its client would be blocked with the lease.
            await self.close(volume, node_id)
        await self._records.leases.take(volume, self._located.at(node_id))
        is_alone = False
        try:
            with failures_of(_name(volume)):
                device = await self._devices.open(place.pool.name, place.name)
            await self._confirm(volume, place, node_id)
            is_alone = True
        finally:
            if not is_alone:
                await self.close(volume, node_id)
        return _source(volume, device)

    async def _confirm(self, volume: VolumeRecord, place: ImagePlace, node_id: str) -> None:
        address = await self._client_of(volume, place)
        await self._records.leases.confirm(volume, node_id, address)

    async def check(self, volume: VolumeRecord, node_id: str) -> None:
        """Raises CsiStatusError if the volume is open here, and another node may have it by now."""
        if self.opened(volume) is not None and await self.is_cut_off(volume, node_id):
            raise failed_precondition(
                f"{_name(volume)}: was cut off from Ceph on node {node_id}, and what is mounted"
                " there is old; unpublish and unstage it first"
            )

    async def is_cut_off(self, volume: VolumeRecord, node_id: str) -> bool:
        """Raises CsiStatusError."""
        with failures_of(_name(volume)):
            return await self._is_cut_off(volume, node_id)

    async def _client_of(self, volume: VolumeRecord, place: ImagePlace) -> str:
        """The address of the one client that has the image open by now."""
        found: Sequence[str] = ()
        with failures_of(_name(volume)):
            for _ in range(TRIES):
                if found := await watchers_of(self._connection, place):
                    break
                await self._clock.sleep(PAUSE)
        if len(found) != 1:
            raise failed_precondition(
                f"{_name(volume)}: {len(found)} clients have image {place.name} open, and one at a"
                " time can; look at `rbd status`"
            )
        return found[0]

    def opened(self, volume: VolumeRecord) -> Source | None:
        device = self._devices.find(self._image(volume))
        return None if device is None else _source(volume, device)

    async def close(self, volume: VolumeRecord, node_id: str) -> None:
        """Raises CsiStatusError."""
        if name := self._image(volume):
            with failures_of(_name(volume)):
                if self._devices.is_shown(name) and await self._is_cut_off(volume, node_id):
                    await self._devices.kill(name)
                await self._devices.close(name)
        await self._records.leases.give_back(volume, node_id)

    # Volumes that were deleted elsewhere

    def opened_by_id(self, volume_id: str) -> Source | None:
        name = self._image_by_id(volume_id)
        device = self._devices.find(name) if name else None
        return None if device is None else DeviceSource(devices=(device,), fs_type=EXT4)

    async def close_by_id(self, volume_id: str) -> None:
        """Raises CsiStatusError. Its image is gone, so its client has nothing to lose."""
        if name := self._image_by_id(volume_id):
            with failures_of(f"volume {volume_id}"):
                await self._devices.kill(name)
                await self._devices.close(name)

    def _image_by_id(self, volume_id: str) -> str:
        try:
            return self._devices.image_of(decompose_volume_id(volume_id).uuid)
        except ValueError:
            return ""

    async def _is_cut_off(self, volume: VolumeRecord, node_id: str) -> bool:
        """Whether Ceph has no client any more that may show the image here. Raises CephError."""
        if self._devices.is_taken_down(self._image(volume)):
            return True
        stored = await self._records.volumes.stored(volume.id)
        lease = None if stored is None else parse_lease(stored.writer)
        if stored is None or lease is None or lease.node_id != node_id:
            return True
        found = await watchers_of(self._connection, stored.place)
        return not any(lease.address in ("", address) for address in found)

    def _image(self, volume: VolumeRecord) -> str:
        return self._records.volumes.image_name(volume.id)


async def watchers_of(connection: CephConnection, place: ImagePlace) -> Sequence[str]:
    """The clients that have the image open; none if it is gone. Raises CephError."""
    try:
        return await _images(connection, place).watchers(place.name)
    except CephError as error:
        if error.failure is CephFailure.NOT_FOUND:
            return ()
        raise


def _images(connection: CephConnection, place: ImagePlace) -> RbdImages:
    return RbdImages(connection, PoolScope(pool=place.pool.name))


def _name(volume: VolumeRecord) -> str:
    return f"volume {volume.name}"


def _source(volume: VolumeRecord, device: Path) -> DeviceSource:
    return DeviceSource(devices=(device,), fs_type=volume.fs_type or EXT4)
