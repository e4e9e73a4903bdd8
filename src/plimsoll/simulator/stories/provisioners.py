"""Provisioners for stories: at once instead of in threads, and with moods."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume
from plimsoll.processes.controller.in_process.provisioners.host_path import HostPath
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    MadeVolume,
    Provisioner,
    ProvisionerError,
    ProvisionRequest,
)
from plimsoll.processes.controller.in_process.provisioners.registry import Registry
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import SimulatedCloud
from plimsoll.processes.controller.in_process.provisioners.zonal_disk import ZonalDisk
from plimsoll.processes.controller.storage.binding import Binding
from plimsoll.simulator.stories.cluster import Make
from plimsoll.simulator.stories.expectations import expect
from plimsoll.simulator.stories.story_process import at_once

ZONAL, HOST_PATH, MOODY = "plimsoll.dev/zonal-disk", "plimsoll.dev/host-path", "moody.example.com"


def zonal(cloud: SimulatedCloud) -> ZonalDisk:
    return ZonalDisk(cloud, at_once)


def host_path(root: Path) -> HostPath:
    return HostPath(root, at_once)


def binding(*provisioners: Provisioner) -> dict[str, Make]:
    """For `more` of a story's cluster."""
    return {"binding": lambda tools: Binding(tools, Registry(provisioners))}


def a_class(
    provisioner: str, name: str = "fast", *, waits: bool = False, **fields: Any
) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    } | fields


@dataclass
class Moody(Provisioner):
    """Does what it is told to do: raises what is left in its list of moods, then works."""

    moods: list[ProvisionerError | None] = field(default_factory=list)
    deletion_moods: list[ProvisionerError | None] = field(default_factory=list)
    assets: set[str] = field(default_factory=set)
    made: int = 0
    deleted: int = 0
    """How often something was really made or deleted."""
    secret_key: ObjectKey | None = None
    labels: dict[str, str] = field(default_factory=dict)
    name: str = MOODY
    known_parameters = frozenset({"secret"})

    async def provision(self, request: ProvisionRequest) -> MadeVolume:
        if self.secret_key is not None:
            secret = await request.secret(self.secret_key)
            expect("the secret is handed on", holds=secret["password"] == b"open sesame")
        _raise_next(self.moods)
        if request.volume_name not in self.assets:
            self.made += 1
        self.assets.add(request.volume_name)
        return MadeVolume(
            source={"nfs": {"server": "store", "path": f"/{request.volume_name}"}},
            labels=self.labels,
        )

    async def delete(self, request: DeleteRequest) -> None:
        _raise_next(self.deletion_moods)
        if request.volume_name in self.assets:
            self.deleted += 1
        self.assets.discard(request.volume_name)

    def knows(self, volume: PersistentVolume) -> bool:
        return volume.spec.nfs is not None


def _raise_next(moods: list[ProvisionerError | None]) -> None:
    mood = moods.pop(0) if moods else None
    if mood is not None:
        raise mood


def names(cloud: SimulatedCloud) -> list[str]:
    return [disk.name for disk in cloud.disks]


def zones(cloud: SimulatedCloud) -> Iterable[tuple[str, ...]]:
    return [disk.zones for disk in cloud.disks]
