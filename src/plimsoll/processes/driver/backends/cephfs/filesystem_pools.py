"""How a file system is reached, and which pools it has.

Monitors are asked for the metadata pool once: it never changes.
"""

from dataclasses import dataclass

from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.files.filesystem import CephFilesystem


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemAccess:
    connection: CephConnection
    """To the cluster."""
    files: CephFilesystem


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemPools:
    metadata: str
    data: tuple[str, ...]


class KnownFilesystem:
    def __init__(self, connection: CephConnection, name: str) -> None:
        self._connection = connection
        self.name = name
        self._metadata_pool = ""
        self._number: int | None = None

    async def metadata_pool(self) -> str:
        """Raises CephError."""
        if not self._metadata_pool:
            self._metadata_pool = (await self.pools()).metadata
        return self._metadata_pool

    async def journal_pool_id(self, number: int) -> int:
        """Ids of volumes have the number of the pool of the journal; those that ceph-csi composed,
        the number of the file system. Raises CephError."""
        if self._number is None:
            dumped = await self._connection.command("fs dump")
            found = (
                each for each in dumped["filesystems"] if each["mdsmap"]["fs_name"] == self.name
            )
            self._number = next((int(each["id"]) for each in found), None)
        if number != self._number:
            return number
        return (await self._connection.pool_ids()).get(await self.metadata_pool(), number)

    async def all_pools(self) -> frozenset[str]:
        """Raises CephError."""
        found = await self.pools()
        return frozenset((found.metadata, *found.data))

    async def pools(self) -> FilesystemPools:
        """As they are now. Raises CephError."""
        for found in await self._connection.command("fs ls"):
            if found["name"] == self.name:
                data = tuple(found["data_pools"])
                return FilesystemPools(metadata=found["metadata_pool"], data=data)
        raise CephError(CephFailure.NOT_FOUND, f"the cluster, asked for file system {self.name},")
