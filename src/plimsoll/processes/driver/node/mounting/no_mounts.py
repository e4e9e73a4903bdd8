"""Volumes that are shown nowhere, for simulated nodes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from plimsoll.processes.driver.backends.protocol import DeviceSource, DirectorySource, Source
from plimsoll.processes.driver.node.mounting.protocol import Shown
from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.files.mountinfo import MountContent


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

    async def set_writable(self, target: Path, *, writable: bool) -> None:
        self._shown[target] = replace(self._shown[target], is_read_only=not writable)

    async def unmount(self, target: Path) -> None:
        self._shown.pop(target, None)


def _pretended(source: Source) -> MountContent:
    match source:
        case DirectorySource(path=path):
            return MountContent("none", str(path))
        case DeviceSource(devices=devices):
            return MountContent("none", str(devices[0]))
