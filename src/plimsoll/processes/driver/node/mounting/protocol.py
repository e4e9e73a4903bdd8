"""The interface of mounting: what each way to show a volume at a path implements."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from plimsoll.processes.driver.backends.protocol import DeviceSource, Source
from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.files.mountinfo import MountContent


class CannotShowError(Exception):
    """Not in this way of mounting; says what would be needed."""


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

    async def set_writable(self, target: Path, *, writable: bool) -> None:
        """Change what is shown there. A way of mounting that cannot do that takes it away."""
        ...

    async def unmount(self, target: Path) -> None:
        """Harmless when nothing is shown there. What it was shown on stays."""
        ...
