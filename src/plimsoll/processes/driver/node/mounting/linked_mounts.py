"""Volumes as symbolic links, for drivers that do not run as root."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from plimsoll.processes.driver.backends.protocol import DeviceSource, Source
from plimsoll.processes.driver.node.mounting.protocol import CannotShowError, Shown
from plimsoll.processes.driver.node.mounting.targets import clear, make_directory, real
from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.files.mountinfo import MountContent


class LinkedMounts:
    """Without root: a symbolic link to the directory of the volume.

    The kernel keeps no list of links, so each is written down, before it is made; what counts is
    the link itself.
    """

    kind = Mounts.LINKED

    def __init__(self, known: Path) -> None:
        self._known = known

    def find(self, path: Path) -> Shown | None:
        path = real(path)
        if not path.is_symlink():
            return None
        return _linked(path)

    def places(self, source: Source) -> Sequence[Shown]:
        if isinstance(source, DeviceSource) or not self._known.exists():
            return ()
        wanted = _link_content(source.path)
        links = sorted(entry.readlink() for entry in self._known.iterdir())
        shown = (_linked(link) for link in links if link.is_symlink())
        return tuple(item for item in shown if item.content == wanted)

    async def mount(self, source: DeviceSource, target: Path, options: Sequence[str]) -> None:  # noqa: ARG002 - refused whatever it is
        raise CannotShowError("only volumes of type directory can be used without root")

    async def bind(
        self, shown: Path, target: Path, *, read_only: bool = False, options: Sequence[str] = ()
    ) -> None:
        if read_only or set(options) - {"rw", "defaults"}:
            raise CannotShowError("read-only use and mount options need root")
        self._link(_origin(shown), real(target))

    def _link(self, origin: Path, target: Path) -> None:
        make_directory(target.parent)
        make_directory(self._known)
        entry = self._entry(target)
        entry.unlink(missing_ok=True)
        entry.symlink_to(target)
        clear(target)
        target.symlink_to(origin)

    async def set_writable(self, target: Path, *, writable: bool) -> None:  # noqa: ARG002 - a link is neither
        await self.unmount(target)

    async def unmount(self, target: Path) -> None:
        target = real(target)
        if target.is_symlink():
            target.unlink()
        self._entry(target).unlink(missing_ok=True)

    def _entry(self, target: Path) -> Path:
        return self._known / hashlib.sha256(os.fsencode(target)).hexdigest()[:32]


def _origin(shown: Path) -> Path:
    return shown.readlink() if shown.is_symlink() else shown.resolve()


def _linked(path: Path) -> Shown:
    content = _link_content(path.readlink())
    return Shown(path=path, content=content, fs_type="link", is_read_only=False)


def _link_content(origin: Path) -> MountContent:
    return MountContent("link", str(origin.resolve()))
