"""Volumes that ceph-csi made in CephFS: subvolumes, as the manager of Ceph lays them out.

`/volumes/GROUP/NAME` has a file `.meta` and one directory, whose name is a uuid: that is what pods
see, and what has the quota. Subvolumes of old versions have no such file, and are the directory
themselves.
"""

from dataclasses import dataclass

from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.files.filesystem import CephFilesystem

META = ".meta"
INHERITED = "_"
"""What names of snapshots begin with that were taken of a directory above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subvolume:
    base: str
    path: str
    """What pods see; empty: it was taken away already."""
    snapshots: tuple[str, ...]
    """Of ceph-csi."""


class Subvolumes:
    """Every method raises CephError."""

    def __init__(self, files: CephFilesystem, group: str) -> None:
        self._files = files
        self._group = group

    async def find(self, name: str) -> Subvolume | None:
        base = f"/volumes/{self._group}/{name}"
        try:
            facts = await self._files.facts(base)
        except CephError as error:
            if error.failure is CephFailure.NOT_FOUND:
                return None
            raise
        snapshots = tuple(each for each in facts.snapshots if not each.startswith(INHERITED))
        return Subvolume(base=base, path=await self._path(base), snapshots=snapshots)

    async def _path(self, base: str) -> str:
        names = await self._files.names(base)
        if META not in names:
            return base
        inner = [each for each in names if each != META]
        if len(inner) > 1:
            raise CephError(CephFailure.FAILED, f"subvolume {base}", "it has several directories")
        return f"{base}/{inner[0]}" if inner else ""
