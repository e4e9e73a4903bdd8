"""Which pools a file system has. Asked of monitors once: the metadata pool never changes."""

from dataclasses import dataclass

from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import CephError, CephFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemPools:
    metadata: str
    data: tuple[str, ...]


class KnownFilesystem:
    def __init__(self, connection: CephConnection, name: str) -> None:
        self._connection = connection
        self.name = name
        self._metadata_pool = ""

    async def metadata_pool(self) -> str:
        """Raises CephError."""
        if not self._metadata_pool:
            self._metadata_pool = (await self.pools()).metadata
        return self._metadata_pool

    async def pools(self) -> FilesystemPools:
        """As they are now. Raises CephError."""
        for found in await self._connection.command("fs ls"):
            if found["name"] == self.name:
                data = tuple(found["data_pools"])
                return FilesystemPools(metadata=found["metadata_pool"], data=data)
        raise CephError(CephFailure.NOT_FOUND, f"the cluster, asked for file system {self.name},")
