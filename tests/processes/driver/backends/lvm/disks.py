"""A volume group on loop devices, for as long as a test runs; nothing of it stays."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.lvm.commands import Lvm
from plimsoll.processes.driver.backends.lvm.kernel import has_udev, why_no_device_mapper
from plimsoll.processes.driver.settings import BackendSettings, Disk, NodeSettings
from plimsoll.runtime.ids import system_ids

MEBIBYTE = 1024**2
EXTENT = MEBIBYTE
"""Of the groups made here."""
NODE = "alpha"
DRIVER = "lvm.plimsoll.dev"


def why_not_here() -> str:
    """Why no group can be made on this machine; empty: it can."""
    if os.geteuid() != 0:
        return "loop devices need root"
    missing = [tool for tool in ("lvm", "losetup", "flock") if shutil.which(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return "" if Path("/dev/loop-control").exists() else "this kernel has no loop devices"


needs_lvm = pytest.mark.skipif(bool(why_not_here()), reason=why_not_here() or "lvm2 is here")
needs_device_mapper = pytest.mark.skipif(
    bool(why_not_here() or why_no_device_mapper()),
    reason=why_not_here() or why_no_device_mapper() or "device-mapper is here",
)
without_device_mapper = pytest.mark.skipif(
    not why_no_device_mapper(), reason="device-mapper is here"
)


@dataclass(frozen=True, slots=True)
class Group:
    """As an administrator would see it, with commands of their own."""

    lvm: Lvm

    def run(self, name: str, *words: str) -> str:
        command = self.lvm._command(name, *words)  # noqa: SLF001 - with the same configuration
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def make_foreign(self, name: str, *words: str) -> None:
        quiet = ["--activate", "n", "--zero", "n", "--wipesignatures", "n"]
        self.run("lvcreate", "--yes", *quiet, "--name", name, *words)

    def names(self) -> set[str]:
        """Of all logical volumes."""
        return set(self.run("lvs", "--noheadings", "--options", "lv_name", self.lvm.group).split())

    def tags(self, name: str) -> list[str]:
        path = f"{self.lvm.group}/{name}"
        return self.run("lvs", "--noheadings", "--options", "lv_tags", path).strip().split(",")

    def lies_on(self, name: str) -> set[str]:
        """Devices."""
        path = f"{self.lvm.group}/{name}"
        listed = self.run("lvs", "--noheadings", "--options", "devices", path).split()
        return {each.partition("(")[0] for word in listed for each in word.split(",")}


@contextlib.contextmanager
def loop_devices(directory: Path, sizes: Sequence[int]) -> Iterator[tuple[Path, ...]]:
    """In the order of their names, as lvm2 reports them: the kernel hands out any that is free."""
    with contextlib.ExitStack() as undone:
        images: dict[str, Path] = {}
        for number in range(len(sizes)):
            image = directory / f"disk-{number}.img"
            image.touch()
            device = _run("losetup", "--find", "--show", str(image)).strip()
            undone.callback(_run, "losetup", "--detach", device)
            images[device] = image
        devices = sorted(images)
        for device, size in zip(devices, sizes, strict=True):
            os.truncate(images[device], size)
            _run("losetup", "--set-capacity", device)
        yield tuple(Path(device) for device in devices)


@contextlib.contextmanager
def volume_group(
    directory: Path, extents: Sequence[int]
) -> Iterator[tuple[Group, BackendSettings]]:
    """With a physical volume of so many extents each."""
    # One MiB before the first extent is for lvm2's own notes.
    sizes = [(count + 1) * EXTENT for count in extents]
    with loop_devices(directory, sizes) as devices:
        name = f"plimsoll-test-{system_ids().suffix(8)}"
        lvm = lvm_of(directory, name, devices)
        group = Group(lvm)
        _run(*lvm.make_group(EXTENT))
        try:
            yield group, settings(directory, name, devices)
        finally:
            group.run("vgremove", "--yes", "--force", name)


def lvm_of(directory: Path, group: str, devices: Sequence[Path]) -> Lvm:
    return Lvm(
        group=group,
        disks=tuple(str(device) for device in devices),
        state_dir=directory,
        has_device_mapper=not why_no_device_mapper(),
        has_udev=has_udev(),
    )


def settings(
    directory: Path, group: str, devices: Sequence[Path], **options: object
) -> BackendSettings:
    node = NodeSettings(id=NODE, disks=tuple(Disk(path=device) for device in devices))
    return BackendSettings(
        driver_name=DRIVER,
        data_dir=directory / "data",
        nodes=(node,),
        options={"volumeGroup": group, **options},
    )


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
