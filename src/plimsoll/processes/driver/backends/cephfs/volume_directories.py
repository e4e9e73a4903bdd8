"""Where volumes and snapshots are in the file system, and how they are made and removed.

Below the root of the driver:

- `volumes/NAME` is the directory of a volume, which nodes mount;
- `removed/NAME` was one: its content is being removed, or snapshots of it are still wanted;
- `snapshots/NAME` is a link whose text is the name of the volume that a snapshot was taken of;
- `copies/NAME` is one whose text is the name of the volume that NAME is copied from at the moment.

Volumes that ceph-csi made are elsewhere (`subvolumes`), until they are removed.

Links are made before what they tell of, and removed after it, so whatever was interrupted can be
found by its name alone. Everything can be repeated.
"""

from collections.abc import Collection
from dataclasses import dataclass

from plimsoll.processes.driver.backends.ceph.records.journaled_assets import SpoiltPlaceError
from plimsoll.processes.driver.backends.cephfs.subvolumes import Subvolume, Subvolumes
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

    def __init__(self, files: CephFilesystem, root: str, group: str = "csi") -> None:
        """`group` is the one of ceph-csi."""
        self._files = files
        self._root = root
        self._foreign = Subvolumes(files, group)

    def path(self, name: str) -> str:
        """Where volumes are made."""
        return self._path("volumes", name)

    async def locate(self, name: str) -> str:
        """What nodes mount."""
        if await self._find(self.path(name)) is not None:
            return self.path(name)
        found = await self._foreign.find(name)
        if found is None or not found.path:
            raise CephError(CephFailure.NOT_FOUND, f"directory {name}")
        return found.path

    def _path(self, folder: str, name: str) -> str:
        return f"{self._root}/{folder}/{name}"

    async def facts(self, name: str) -> DirectoryFacts:
        own = await self._find(self.path(name))
        return own or await self._files.facts(await self.locate(name))

    async def is_written(self, name: str) -> bool:
        """Whether there is anything in it. What CephFS counts of the content lags behind, and
        counts no empty files."""
        path = await self.locate(name)
        return bool((await self._files.facts(path)).used_bytes or await self._files.names(path))

    async def grow(self, name: str, size_bytes: int) -> None:
        """Never shrinks."""
        if (await self.facts(name)).quota_bytes < size_bytes:
            await self._files.set_quota(await self.locate(name), size_bytes)

    async def make(self, new: NewDirectory) -> None:
        """Empty. Raises SpoiltPlaceError for what an attempt with another pool or size left."""
        present = await self._find(self.path(new.name))
        if present is None:
            await self._make(new)
        elif (present.pool, present.quota_bytes) != (new.pool, new.size_bytes):
            raise SpoiltPlaceError(f"directory {new.name} is there with another pool or size")

    async def _make(self, new: NewDirectory) -> None:
        await self._files.make_directory(
            self.path(new.name), quota_bytes=new.size_bytes, pool=new.pool
        )

    async def _make_for_copy(self, new: NewDirectory) -> None:
        """At a place that no other call has had: one that was interrupted is not gone on with,
        since another call may have finished it by now, and pods may have written to it."""
        if await self._find(self.path(new.name)) is not None:
            raise SpoiltPlaceError(f"directory {new.name} is there already")
        await self._make(new)

    async def make_from_snapshot(self, origin: SnapshotName, new: NewDirectory) -> None:
        """A whole copy. Raises SpoiltPlaceError."""
        await self._make_for_copy(new)
        source = await self._whereabouts(origin.volume)
        await self._files.copy_tree(f"{source}/.snap/{origin.name}", self.path(new.name))

    async def make_from_volume(self, origin: str, new: NewDirectory) -> None:
        """A whole copy, from a snapshot that is taken for it. Raises SpoiltPlaceError."""
        await self._make_for_copy(new)
        snapshot = COPY_PREFIX + new.name
        source = await self._whereabouts(origin)
        await self._files.make_link(self._path("copies", new.name), origin)
        await self._files.take_snapshot(source, snapshot)
        await self._files.copy_tree(f"{source}/.snap/{snapshot}", self.path(new.name))
        await self._end_copy(new.name)

    async def end_copies(self, *, but: Collection[str]) -> None:
        """What copies that were interrupted hold of their sources; those that are named are being
        made."""
        for name in await self._files.names(self._path("copies", "").rstrip("/")):
            if name not in but:
                await self._end_copy(name)

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
        elif (foreign := await self._foreign.find(name)) is not None:
            await self._take(foreign, removed)
        await self._files.remove_tree(removed)

    async def _take(self, foreign: Subvolume, removed: str) -> None:
        """Raises CephError while ceph-csi has snapshots of it: they would go with it."""
        if foreign.snapshots:
            detail = f"{foreign.snapshots[0]}, of ceph-csi; delete it first"
            raise CephError(CephFailure.HAS_SNAPSHOTS, f"directory {foreign.base}", detail)
        if foreign.path:
            await self._files.move(foreign.path, removed)
        await self._files.remove_tree(foreign.base)

    async def remove_any(self, name: str) -> None:
        """A volume or snapshot, of which only the name is known."""
        await self.remove_snapshot(name)
        await self.remove(name)

    async def _whereabouts(self, volume: str) -> str:
        """Of a volume that is there, or of what is kept of it."""
        try:
            return await self.locate(volume)
        except CephError as error:
            if error.failure is not CephFailure.NOT_FOUND:
                raise
        await self._files.facts(self._path("removed", volume))
        return self._path("removed", volume)

    async def _find(self, path: str) -> DirectoryFacts | None:
        try:
            return await self._files.facts(path)
        except CephError as error:
            if error.failure is CephFailure.NOT_FOUND:
                return None
            raise
