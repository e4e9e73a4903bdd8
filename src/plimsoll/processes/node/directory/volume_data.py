"""vol_data.json, which tells what a directory of the node is for, as kubelet writes it."""

import logging
from pathlib import Path
from typing import Any

import msgspec

from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.paths import DATA_FILE
from plimsoll.runtime.files.durable_files import draft_of, write_file
from plimsoll.runtime.files.mountinfo import read_mount_points

log = logging.getLogger(__name__)

DIRECTORY_MODE = 0o750
DRAFT = draft_of(Path(DATA_FILE)).name


class VolumeData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """vol_data.json, with kubelet's names."""

    driver: str = msgspec.field(default="", name="driverName")
    handle: str = msgspec.field(default="", name="volumeHandle")
    name: str = msgspec.field(default="", name="specVolID")
    node: str = msgspec.field(default="", name="nodeName")
    attachment: str = msgspec.field(default="", name="attachmentID")
    lifecycle: str = msgspec.field(default="", name="volumeLifecycleMode")

    @property
    def device(self) -> Device:
        return Device(self.driver, self.handle)


def names(directory: Path) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def make_directory(directory: Path) -> None:
    """A mount whose server is gone is there, although no process can look at it: its driver mends
    or replaces it when the volume is staged."""
    try:
        directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    except FileExistsError:
        if str(directory.parent.resolve() / directory.name) not in read_mount_points():
            raise


def read_data(directory: Path) -> VolumeData | None:
    try:
        raw: Any = (directory / DATA_FILE).read_bytes()
        data = msgspec.json.decode(raw, type=VolumeData)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.DecodeError as error:
        facts = {"path": str(directory / DATA_FILE), "error": str(error)}
        log.error("volume data unreadable", extra=facts)  # noqa: TRY400 - the text says it all
        return None
    return data if data.driver and data.handle else None


def write_data(directory: Path, data: VolumeData) -> None:
    """Whole or not at all, and on disk when it returns."""
    make_directory(directory)
    write_file(directory / DATA_FILE, msgspec.json.encode(data))
