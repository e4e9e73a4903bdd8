"""What the modules of the node service share, and the questions that they have about a volume on
their node.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from plimsoll.processes.driver.backends.protocol import (
    CutsNodesOff,
    DeviceSource,
    DirectorySource,
    MendsVolumes,
    Source,
)
from plimsoll.processes.driver.controller.requests import RequestedCapability
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.mount_options import BIND, READ_ONLY, find_problem
from plimsoll.processes.driver.node.filesystems import NotPermittedError
from plimsoll.processes.driver.node.mounting.protocol import CannotShowError, DriverMounting, Shown
from plimsoll.processes.driver.node.mounting.targets import TargetTakenError
from plimsoll.processes.driver.records import VolumeMode, VolumeRecord
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.runtime.commands import CommandError
from plimsoll.wire.csi.refusals import (
    failed_precondition,
    internal,
    invalid_argument,
    unavailable,
)

DEVICE_FILE = "device"
"""In the staging directory of a block volume: its device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How a volume is to be used, as a request says it."""

    capability: RequestedCapability

    @property
    def options(self) -> tuple[str, ...]:
        return self.capability.mount_options

    @property
    def is_read_only(self) -> bool:
        return READ_ONLY in self.options


@dataclass(frozen=True, slots=True)
class NodeContext:
    driver: Driver
    configured: NodeSettings
    mounting: DriverMounting

    @property
    def node(self) -> NodeSettings:
        """With its topology at this moment."""
        return self.driver.located(self.configured)

    @property
    def can_open(self) -> bool:
        """Whether volumes can be used on this node at all."""
        return self.driver.backend.features.node_service

    def is_attached(self, volume: VolumeRecord) -> bool:
        """As far as volumes of this driver must be attached at all."""
        if not self.driver.backend.features.attach:
            return True
        return self.node.id in {item.node_id for item in volume.attachments}

    def check_attached(self, volume: VolumeRecord) -> None:
        """And that the node is not fenced. Raises CsiStatusError (FAILED_PRECONDITION)."""
        self.driver.fences.check(self.node)
        if not self.is_attached(volume):
            raise failed_precondition(
                f"volume {volume.id}: is not attached to node {self.node.id};"
                " ControllerPublishVolume comes first"
            )

    async def adopted(self, volume: VolumeRecord, use: Use) -> VolumeRecord:
        """A volume that another program made has from now on the mode that it is used in."""
        if not volume.is_adopted:
            return volume
        asked = use.capability
        return await self.driver.records.volumes.put(
            msgspec.structs.replace(
                volume, mode=asked.mode, fs_type=asked.fs_type, is_adopted=False
            )
        )

    def opened(self, volume: VolumeRecord) -> Source | None:
        return self.driver.backend.opened(volume, self.node.id)

    async def mend(self, volume: VolumeRecord) -> None:
        """What broke a volume since it was opened here, if its backend can mend that."""
        backend = self.driver.backend
        if isinstance(backend, MendsVolumes) and self.opened(volume) is not None:
            await backend.mend(volume, self.node.id)

    async def is_cut_off(self, volume: VolumeRecord) -> bool:
        backend = self.driver.backend
        if not isinstance(backend, CutsNodesOff) or self.opened(volume) is None:
            return False
        return await backend.is_cut_off(volume, self.node.id)

    def places(self, volume: VolumeRecord) -> Sequence[Shown]:
        """Wherever the volume can be seen on this node."""
        source = self.opened(volume)
        return () if source is None else self.mounting.places(source)

    def place(self, volume: VolumeRecord, path: Path) -> Shown | None:
        """What of the volume is shown at that path."""
        found = self.mounting.find(path)
        if found is None or found not in self.places(volume):
            return None
        return found


def staging_place(volume: VolumeRecord, path: Path) -> Path:
    """What a volume is staged on: a directory can be mounted on, a device cannot."""
    return path / DEVICE_FILE if volume.mode is VolumeMode.BLOCK else path


def check_use(volume: VolumeRecord, use: Use, source: Source | None) -> None:
    """Raises CsiStatusError (INVALID_ARGUMENT) for a use that the volume was not made for."""
    if use.capability.mode is not volume.mode:
        raise invalid_argument(
            f"volume {volume.id}: is a {volume.mode} volume, and cannot be used as"
            f" {use.capability.mode}"
        )
    wanted = use.capability.fs_type
    match source:
        case DeviceSource(fs_type=present) if wanted not in ("", present):
            raise invalid_argument(
                f"volume {volume.id}: has file system {present}, {wanted} is wanted"
            )
        case DirectorySource() | DeviceSource() | None:
            return


def check_options(volume: VolumeRecord, use: Use, source: Source) -> None:
    """Raises CsiStatusError (INVALID_ARGUMENT) for options that must not reach `mount`."""
    if volume.mode is VolumeMode.FILESYSTEM and (problem := _refused_options(use, source)):
        raise invalid_argument(f"volume {volume.id}: {problem}")


def _refused_options(use: Use, source: Source) -> str:
    match source:
        case DirectorySource():
            return find_problem(use.options, BIND)
        case DeviceSource(fs_type=fs_type, also_mount_options=also):
            return find_problem(use.options, fs_type, also=also)


NO_ANSWER = "what it is stored on does not answer in time; try again when it does"


@contextmanager
def failures_told(volume_id: str) -> Iterator[None]:
    """What goes wrong at the edge becomes an answer that names the volume."""
    try:
        yield
    except CommandError as error:
        if error.timed_out:
            raise unavailable(f"volume {volume_id}: {error}; {NO_ANSWER}") from error
        raise internal(f"volume {volume_id}: {error}") from error
    except TimeoutError as error:
        raise unavailable(f"volume {volume_id}: {NO_ANSWER}") from error
    except CannotShowError as error:
        raise invalid_argument(f"volume {volume_id}: {error}") from error
    except (NotPermittedError, TargetTakenError) as error:
        raise failed_precondition(f"volume {volume_id}: {error}") from error
    except OSError as error:
        raise internal(f"volume {volume_id}: {error.filename}: {error.strerror}") from error
