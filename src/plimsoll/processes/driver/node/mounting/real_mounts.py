"""How a volume gets to a path: mounted, linked, or not at all.

Mounts are made with mount(8) rather than the system call: it knows which options are the file
system's and which are the mount's, it explains a failure, and it can be killed when it hangs.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from plimsoll.processes.driver.backends.protocol import DeviceSource, DirectorySource, Source
from plimsoll.processes.driver.node.mounting.device_mounts import mounts_of
from plimsoll.processes.driver.node.mounting.mounted_targets import MountedTargets
from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.commands import run
from plimsoll.runtime.files.mountinfo import (
    MountContent,
    MountEntry,
    content_at,
    find_mount,
    read_mounts,
)

WITHIN = timedelta(minutes=1)
PRIVATE = "mounting"


class CannotShowError(Exception):
    """Not in this way of mounting; says what would be needed."""


class TargetTakenError(Exception):
    """The path holds something that is not ours: it is neither hidden nor removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Something that can be seen at a path."""

    path: Path
    content: MountContent
    fs_type: str
    is_read_only: bool


class DriverMounting(Protocol):
    kind: Mounts

    def find(self, path: Path) -> Shown | None:
        """What is shown exactly there."""
        ...

    def places(self, source: Source) -> Sequence[Shown]:
        """Wherever this can be seen on this node, in the order in which it was shown."""
        ...

    async def mount(self, source: DeviceSource, target: Path, options: Sequence[str]) -> None:
        """Show the file system on the devices."""
        ...

    async def bind(
        self, shown: Path, target: Path, *, read_only: bool = False, options: Sequence[str] = ()
    ) -> None:
        """Show a directory, or the node of a device, at another path as well.

        At no moment can it be seen there without its options.
        """
        ...

    async def unmount(self, target: Path) -> None:
        """Harmless when nothing is shown there. What it was shown on stays."""
        ...


def state_dir(data_dir: Path, node_id: str) -> Path:
    """What one node keeps for itself."""
    return data_dir / "nodes" / quote(node_id, safe="")


def chosen(kind: Mounts, state_dir: Path) -> DriverMounting:
    """`state_dir` belongs to this node of this driver alone."""
    match kind:
        case Mounts.REAL:
            return RealMounts(state_dir)
        case Mounts.LINKED:
            return LinkedMounts(state_dir / "links")
        case Mounts.NONE:
            return NoMounts()


async def clear_leftovers(data_dir: Path) -> None:
    """On start: unmount what the last run left in its private directories when it died."""
    for node in entries(data_dir / "nodes"):
        for private in entries(node / PRIVATE):
            await unmount(private)


def real(path: Path) -> Path:
    """As the kernel spells it; the last part may be a link of ours and is left alone."""
    return path.parent.resolve() / path.name


def make_directory(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)


def make_mount_point(shown: Path, target: Path) -> None:
    """Something of the same kind must be there to mount on."""
    if shown.is_dir():
        make_directory(target)
    else:
        make_directory(target.parent)
        target.touch()


def check_free(target: Path, kind: Mounts) -> None:
    """Before something is mounted. Raises TargetTakenError.

    mount(8) follows a link, and we would look for our mount where the link is. Files in a directory
    would be hidden.
    """
    if kind is not Mounts.REAL:
        return
    if target.is_symlink():
        raise TargetTakenError(f"{target} is a symbolic link; remove it, nothing is mounted there")
    if target.is_dir() and any(target.iterdir()):
        raise TargetTakenError(f"{target} has files in it, which a mount would hide; move them")


def entries(directory: Path) -> list[Path]:
    return sorted(directory.iterdir()) if directory.exists() else []


def clear(target: Path) -> None:
    """Remove what was mounted on, or linked. What has content is not ours, and stays.

    Harmless when there is nothing. Raises OSError for a directory, TargetTakenError for a file.
    """
    if target.is_symlink():
        target.unlink()
    elif target.is_dir():
        target.rmdir()
    elif target.exists():
        if not target.is_file() or target.stat().st_size:
            raise TargetTakenError(f"{target} is no empty file, as volumes are mounted on; move it")
        target.unlink()


class RealMounts:
    kind = Mounts.REAL

    def __init__(self, state_dir: Path) -> None:
        self._private = state_dir / PRIVATE
        self._targets = MountedTargets(state_dir)

    def find(self, path: Path) -> Shown | None:
        found = find_mount(read_mounts(), real(path))
        return None if found is None else _shown(found)

    def places(self, source: Source) -> Sequence[Shown]:
        mounts = read_mounts()
        if isinstance(source, DirectorySource):
            directory = source.path.resolve()
            content = content_at(mounts, directory)
            found = [m for m in mounts if m.content == content and m.path != directory]
        else:
            found = mounts_of(source.devices, mounts)
        others = self._targets.of_others()
        return tuple(_shown(mount) for mount in found if mount.path not in others)

    async def mount(self, source: DeviceSource, target: Path, options: Sequence[str]) -> None:
        make_directory(target)
        self._targets.note(real(target))
        # All members are named: the kernel may not have been told of them before.
        members = [f"device={device}" for device in source.devices[1:]]
        wanted = ",".join(["defaults", *source.mount_options, *members, *options])
        device = source.devices[0]
        await run(["mount", "-t", source.fs_type, "-o", wanted, device, target], within=WITHIN)

    async def bind(
        self, shown: Path, target: Path, *, read_only: bool = False, options: Sequence[str] = ()
    ) -> None:
        wanted = [*options, "ro"] if read_only else list(options)
        make_mount_point(shown, target)
        self._targets.note(real(target))
        if not wanted:
            await run(["mount", "--bind", shown, target], within=WITHIN)
            return
        # Options come in a second step, at a private path; a bind mount of that one has them from
        # its first moment. So after a crash in between, no pod sees the volume without them.
        private = self._private / hashlib.sha256(os.fsencode(target)).hexdigest()[:32]
        await unmount(private)
        make_mount_point(shown, private)
        try:
            await run(["mount", "--bind", shown, private], within=WITHIN)
            remount = ",".join(["remount", "bind", *wanted])
            await run(["mount", "-o", remount, private], within=WITHIN)
            await run(["mount", "--bind", private, target], within=WITHIN)
        finally:
            await unmount(private)

    async def unmount(self, target: Path) -> None:
        await take_away(target)
        self._targets.forget(real(target))


async def take_away(target: Path) -> None:
    """Whatever is mounted there: a crash may have left several, one over the other."""
    while find_mount(read_mounts(), real(target)) is not None:
        await run(["umount", real(target)], within=WITHIN)


async def unmount(target: Path) -> None:
    """With what it was mounted on. Harmless when there is nothing."""
    await take_away(target)
    clear(target)


def _shown(mount: MountEntry) -> Shown:
    return Shown(
        path=mount.path,
        content=mount.content,
        fs_type=mount.fs_type,
        is_read_only=mount.is_read_only,
    )


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


class NoMounts:
    """For nodes that only pretend: what is shown where is known until the process ends."""

    kind = Mounts.NONE

    def __init__(self) -> None:
        self._shown: dict[Path, Shown] = {}

    def find(self, path: Path) -> Shown | None:
        return self._shown.get(path)

    def places(self, source: Source) -> Sequence[Shown]:
        content = _pretended(source)
        return tuple(shown for shown in self._shown.values() if shown.content == content)

    async def mount(self, source: DeviceSource, target: Path, options: Sequence[str]) -> None:
        self._shown[target] = Shown(
            path=target,
            content=_pretended(source),
            fs_type=source.fs_type,
            is_read_only="ro" in options,
        )

    async def bind(
        self, shown: Path, target: Path, *, read_only: bool = False, options: Sequence[str] = ()
    ) -> None:
        seen = self._shown.get(shown)
        read_only = read_only or "ro" in options
        if seen is not None:
            self._shown[target] = replace(seen, path=target, is_read_only=read_only)
            return
        content = _pretended(DirectorySource(path=shown))
        self._shown[target] = Shown(
            path=target, content=content, fs_type="none", is_read_only=read_only
        )

    async def unmount(self, target: Path) -> None:
        self._shown.pop(target, None)


def _pretended(source: Source) -> MountContent:
    match source:
        case DirectorySource(path=path):
            return MountContent("none", str(path))
        case DeviceSource(devices=devices):
            return MountContent("none", str(devices[0]))


def missing_without_root(kind: Mounts) -> str:
    """What people should be told at start; empty when nothing is missing."""
    if kind is not Mounts.LINKED:
        return ""
    tool = "" if shutil.which("mount") else ", and mount(8) is not installed"
    return (
        "volumes are shown as symbolic links to directories; images, block devices, memory,"
        f" read-only use and mount options need root{tool}"
    )
