"""Directories on one node: mounted by a client that the journal knows, and taken away again."""

from collections.abc import Sequence
from functools import partial

from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.backends.ceph.ceph_cluster import failures_of
from plimsoll.processes.driver.backends.ceph.records.journaled_entries import (
    entry_name,
    extent_of,
)
from plimsoll.processes.driver.backends.cephfs.fuse_mounts import FuseMounts
from plimsoll.processes.driver.backends.cephfs.node_clients import NodeClients
from plimsoll.processes.driver.backends.cephfs.volume_directories import VolumeDirectories
from plimsoll.processes.driver.backends.protocol import DirectorySource, Source, VolumeHealth
from plimsoll.processes.driver.records import VolumeRecord
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure

PROBE = "plimsoll-probe"


class NodeDirectories:
    """A name is that of the directory of a volume. Raises CsiStatusError."""

    def __init__(
        self,
        connection: CephConnection,
        directories: VolumeDirectories,
        mounts: FuseMounts,
        *,
        clients: NodeClients,
        node_ids: Sequence[str],
    ) -> None:
        self._connection = connection
        self._directories = directories
        self._mounts = mounts
        self._clients = clients
        self._node_ids = node_ids

    async def open(self, volume: VolumeRecord, name: str, node_id: str) -> Source:
        await self._clients.check(name, node_id)
        admit = partial(self._clients.admit, name, node_id)
        with failures_of(entry_name(volume)):
            # ceph-fuse would mount a directory whose content cannot be read.
            await self._probe(extent_of(volume))
            path = await self._directories.locate(name)
            return DirectorySource(path=await self._mounts.open(name, path, admit))

    async def _probe(self, pool: str) -> None:
        """Raises CephError unless the pool answers."""
        try:
            await self._connection.on_pool(PoolScope(pool=pool), lambda opened: opened.stat(PROBE))
        except CephError as error:
            if error.failure is not CephFailure.NOT_FOUND:
                raise

    def opened(self, name: str) -> Source | None:
        path = self._mounts.find(name)
        return None if path is None else DirectorySource(path=path)

    async def close(self, volume: str, name: str, node_id: str) -> None:
        """`volume` is what people call it."""
        with failures_of(volume):
            await self._mounts.close(name)
        await self._clients.forget(name, node_id)

    async def condition(self, name: str) -> VolumeHealth:
        if self._mounts.find(name) is not None and (problem := await self._mounts.problem(name)):
            return VolumeHealth(abnormal=True, message=f"directory {name}: {problem}")
        try:
            await self._directories.facts(name)
        except CephError as error:
            return VolumeHealth(abnormal=True, message=f"directory {name}: {error}")
        return VolumeHealth()

    # Volumes that were deleted elsewhere

    def opened_by_id(self, volume_id: str) -> Source | None:
        name = self._mounted_name(volume_id)
        return self.opened(name) if name else None

    async def close_by_id(self, volume_id: str) -> None:
        if name := self._mounted_name(volume_id):
            with failures_of(f"volume {volume_id}"):
                await self._mounts.close(name)
            for node_id in self._node_ids:
                await self._clients.forget(name, node_id)

    def _mounted_name(self, volume_id: str) -> str:
        try:
            return self._mounts.name_of(decompose_volume_id(volume_id).uuid)
        except ValueError:
            return ""
