"""Where volumes and snapshots are in the file system, and how they are made and removed.

Below the root of the driver:

- `volumes/NAME` is the directory of a volume, which nodes mount;
- `removed/NAME` was one: its content is being removed, or snapshots of it are still wanted;
- `snapshots/NAME` is a link whose text is the name of the volume that a snapshot was taken of;
- `copies/NAME` is one whose text is the name of the volume that NAME is copied from at the moment.

Links are made before what they tell of, and removed after it, so whatever was interrupted can be
found by its name alone. Everything can be repeated.
"""

from dataclasses import dataclass

from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from plimsoll.wire.ceph.files.messages import DirectoryFacts

COPY_PREFIX = "plimsoll-for-"
"""Of a snapshot that is taken for a copy; the name of the copy follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDirectory:
    name: str
    size_bytes: int
    pool: str
    """Where the content of its files goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotName:
    volume: str
    name: str


class VolumeDirectories:
    """Every method raises CephError."""

    def __init__(self, files: CephFilesystem, root: str) -> None:
        self._files = files
        self._root = root

    def path(self, name: str) -> str:
        """What nodes mount."""
        return self._path("volumes", name)

    def _path(self, folder: str, name: str) -> str:
        return f"{self._root}/{folder}/{name}"

    async def facts(self, name: str) -> DirectoryFacts:
        return await self._files.facts(self.path(name))

    async def grow(self, name: str, size_bytes: int) -> None:
        """Never shrinks."""
        if (await self.facts(name)).quota_bytes < size_bytes:
            await self._files.set_quota(self.path(name), size_bytes)

    async def make(self, new: NewDirectory) -> None:
        """Empty. What an attempt in another pool left goes first: its files are there."""
        await self._check_pool(new)
        await self._make(new)

    async def _make(self, new: NewDirectory) -> None:
        await self._files.make_directory(
            self.path(new.name), quota_bytes=new.size_bytes, pool=new.pool
        )

    async def _check_pool(self, new: NewDirectory) -> None:
        present = await self._find(self.path(new.name))
        if present is not None and present.pool != new.pool:
            await self.remove(new.name)

    async def make_from_snapshot(self, origin: SnapshotName, new: NewDirectory) -> None:
        """A snapshot never changes, so an interrupted copy is gone on with."""
        await self.make(new)
        source = await self._whereabouts(origin.volume)
        await self._files.copy_tree(f"{source}/.snap/{origin.name}", self.path(new.name))

    async def make_from_volume(self, origin: str, new: NewDirectory) -> None:
        """From a snapshot that is taken for it. A copy of an earlier one is begun anew: a file that
        has changed since may look the same."""
        await self._check_pool(new)
        snapshot = COPY_PREFIX + new.name
        source = await self._whereabouts(origin)
        if snapshot not in (await self._files.facts(source)).snapshots:
            await self.remove(new.name)
            await self._files.make_link(self._path("copies", new.name), origin)
            await self._files.take_snapshot(source, snapshot)
        await self._make(new)
        await self._files.copy_tree(f"{source}/.snap/{snapshot}", self.path(new.name))
        await self._end_copy(new.name)

    async def _end_copy(self, name: str) -> None:
        link = self._path("copies", name)
        if origin := await self._files.read_link(link):
            await self._drop_snapshot(SnapshotName(volume=origin, name=COPY_PREFIX + name))
            await self._files.remove_link(link)

    async def take_snapshot(self, snapshot: SnapshotName) -> None:
        await self._files.make_link(self._path("snapshots", snapshot.name), snapshot.volume)
        await self._files.take_snapshot(await self._whereabouts(snapshot.volume), snapshot.name)

    async def source_of(self, snapshot: str) -> str:
        """The name of the volume that it was taken of."""
        volume = await self._files.read_link(self._path("snapshots", snapshot))
        if not volume:
            raise CephError(CephFailure.NOT_FOUND, f"snapshot {snapshot}")
        return volume

    async def remove_snapshot(self, name: str) -> None:
        """That there is none is no error."""
        link = self._path("snapshots", name)
        if volume := await self._files.read_link(link):
            await self._drop_snapshot(SnapshotName(volume=volume, name=name))
            await self._files.remove_link(link)

    async def _drop_snapshot(self, snapshot: SnapshotName) -> None:
        """With the last one goes what was kept of a removed volume."""
        try:
            source = await self._whereabouts(snapshot.volume)
            await self._files.remove_snapshot(source, snapshot.name)
        except CephError as error:
            if error.failure is not CephFailure.NOT_FOUND:
                raise
            return
        if source == self._path("removed", snapshot.volume):
            await self._files.remove_tree(source)

    async def remove(self, name: str) -> None:
        """The volume is gone with the first step; snapshots of it stay."""
        await self._end_copy(name)
        removed = self._path("removed", name)
        if await self._find(self.path(name)) is not None:
            await self._files.move(self.path(name), removed)
        await self._files.remove_tree(removed)

    async def remove_any(self, name: str) -> None:
        """A volume or snapshot, of which only the name is known."""
        await self.remove_snapshot(name)
        await self.remove(name)

    async def _whereabouts(self, volume: str) -> str:
        """Of a volume that is there, or of what is kept of it."""
        if await self._find(self.path(volume)) is not None:
            return self.path(volume)
        await self._files.facts(self._path("removed", volume))
        return self._path("removed", volume)

    async def _find(self, path: str) -> DirectoryFacts | None:
        try:
            return await self._files.facts(path)
        except CephError as error:
            if error.failure is CephFailure.NOT_FOUND:
                return None
            raise
