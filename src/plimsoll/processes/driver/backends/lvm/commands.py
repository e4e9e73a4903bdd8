"""The lvm2 commands that are run, as argument lists.

Nothing in them comes from a request: volumes are named by our own ids, tags are escaped, sizes are
numbers of extents, and the group and its disks are settings, checked here. Where disks are given,
lvm2 looks at no other device of the machine.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from plimsoll.processes.driver.backends.lvm.layouts import LvmArrangement, LvmShape
from plimsoll.processes.driver.backends.lvm.report import FIELDS
from plimsoll.processes.driver.backends.lvm.tags import OURS, UNFINISHED, checked

GROUP_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9+_.-]{0,126}")
DEVICE_PATH = re.compile(r"/dev/[A-Za-z0-9_/:@+-][A-Za-z0-9_/.:@+-]*")
LOCK_SECONDS = 60
"""How long a command that an earlier driver process began may go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVolume:
    name: str
    shape: LvmShape
    extents: int
    tags: tuple[str, ...]
    ranges: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lvm:
    """How lvm2 is to be called for one group."""

    group: str
    disks: tuple[str, ...]
    """Empty: whatever this machine's own configuration of lvm2 lets it see."""
    state_dir: Path
    has_device_mapper: bool
    has_udev: bool

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if not GROUP_NAME.fullmatch(self.group):
            raise ValueError(f"{self.group!r} is no name of a volume group")
        for disk in self.disks:
            if not DEVICE_PATH.fullmatch(disk):
                raise ValueError(f"{disk!r} is no path of a device below /dev")
        if not re.fullmatch(r"[^\"\\\x00-\x1f]+", str(self.state_dir)):
            raise ValueError(f"{str(self.state_dir)!r} has characters that lvm2 cannot be told")

    def report(self) -> list[str]:
        fields = [
            word
            for part, names in FIELDS.items()
            for word in ("--configreport", part, "--options", ",".join(names))
        ]
        return [
            *self._command("fullreport", "--all", "--reportformat", "json"),
            *("--units", "b", "--nosuffix", *fields, self.group),
        ]

    def make_group(self, extent_bytes: int) -> list[str]:
        # Without --yes: a disk that has something on it is refused, not overwritten.
        return [
            *self._command("vgcreate", "--physicalextentsize", f"{extent_bytes}b"),
            *("--addtag", OURS, self.group, *self.disks),
        ]

    def make_volume(self, new: NewVolume) -> list[str]:
        tags = [word for tag in new.tags for word in ("--addtag", tag)]
        return [
            *self._held(),
            *self._command("lvcreate", "--yes", "--name", checked(new.name)),
            *(*_type(new.shape), "--extents", str(new.extents), *tags, *self._fresh()),
            *(self.group, *new.ranges),
        ]

    def finish(self, name: str) -> list[str]:
        return [*self._command("lvchange", "--deltag", UNFINISHED), self._path(name)]

    def grow(
        self,
        name: str,
        shape: LvmShape,
        *,
        extents: int,
        ranges: Sequence[str],
    ) -> list[str]:
        stripes = _stripes(shape)
        return [
            *self._command("lvextend", "--yes", "--extents", str(extents), *stripes),
            *(self._path(name), *ranges),
        ]

    def remove(self, name: str) -> list[str]:
        return [*self._command("lvremove", "--yes"), self._path(name)]

    def activate(self, name: str) -> list[str]:
        return [*self._command("lvchange", "--activate", "y"), self._path(name)]

    def deactivate(self, name: str) -> list[str]:
        return [*self._command("lvchange", "--activate", "n"), self._path(name)]

    def wait_for_others(self) -> list[str]:
        """Ends when no `make_volume` goes on, not even one that a killed driver had begun."""
        return [*self._held(), "true"]

    def _path(self, name: str) -> str:
        return f"{self.group}/{checked(name)}"

    def _held(self) -> list[str]:
        # lvm2 outlives a driver that is killed. The next driver waits for it before it looks for
        # volumes without a record: otherwise it would miss the one that lvm2 still makes.
        lock = str(self.state_dir / "making.lock")
        return ["flock", "--exclusive", "--close", "--timeout", str(LOCK_SECONDS), lock]

    def _command(self, name: str, *options: str) -> list[str]:
        loaded = [] if self.has_device_mapper else ["--driverloaded", "n"]
        return ["lvm", name, "--config", self._configuration(), *loaded, *options]

    def _fresh(self) -> list[str]:
        """What a new volume shows of those that lay there before: no file system, above all."""
        state = "y" if self.has_device_mapper else "n"
        return ["--activate", state, "--zero", state, "--wipesignatures", state]

    def _configuration(self) -> str:
        udev = int(self.has_udev)
        settings = [
            f'backup/backup_dir="{self.state_dir}/backup"',
            "backup/archive=0",
            f"activation/udev_sync={udev}",
            f"activation/udev_rules={udev}",
        ]
        if self.disks:
            accepted = "".join(f'"a|^{_exactly(disk)}$|",' for disk in self.disks)
            only = f'[{accepted}"r|.*|"]'
            settings += [
                f"devices/filter={only}",
                f"devices/global_filter={only}",
                "devices/use_devicesfile=0",
                "devices/obtain_device_list_from_udev=0",
            ]
        return " ".join(settings)


def _exactly(path: str) -> str:
    """As a regular expression; of the characters a path may have, two mean more than themselves."""
    return path.replace(".", "[.]").replace("+", "[+]")


def _type(shape: LvmShape) -> list[str]:
    match shape.arrangement:
        case LvmArrangement.LINEAR:
            return ["--type", "linear"]
        case LvmArrangement.STRIPED:
            return ["--type", "striped", *_stripes(shape)]
        case LvmArrangement.MIRRORED:
            return ["--type", "raid1", "--mirrors", "1"]
        case _:
            assert_never(shape.arrangement)


def _stripes(shape: LvmShape) -> list[str]:
    if shape.arrangement is LvmArrangement.STRIPED:
        return ["--stripes", str(shape.stripes)]
    return []
