"""A CSI driver on a node, over sockets: it binds directories of volumes into pods, for real."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from plimsoll.runtime.commands import run
from plimsoll.runtime.files.mountinfo import read_mount_points
from plimsoll.simulator.stories.scripted_driver import ScriptedDriver
from plimsoll.wire.csi import methods as M  # noqa: N812 - a table of names
from plimsoll.wire.csi.gen import csi_pb2 as csi, pluginregistration_pb2 as registration
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.server import answering, listening


@dataclass
class MountingDriver(ScriptedDriver):
    store: Path | None = None
    """Where volumes are, one directory for each; None: it only keeps record."""
    versions: Sequence[str] = ("1.0.0",)
    type: str = "CSIPlugin"
    told: list[tuple[bool, str]] = field(default_factory=list)
    """What it heard about its registration."""

    async def stage(self, request: csi.NodeStageVolumeRequest) -> csi.NodeStageVolumeResponse:
        answer = await super().stage(request)
        if self.store is not None and not request.volume_capability.HasField("block"):
            source = self.store / request.volume_id
            source.mkdir(parents=True, exist_ok=True)
            await bind(source, Path(request.staging_target_path))
        return answer

    async def unstage(self, request: csi.NodeUnstageVolumeRequest) -> csi.NodeUnstageVolumeResponse:
        answer = await super().unstage(request)
        if self.store is not None:
            await unbind(Path(request.staging_target_path))
        return answer

    async def publish(self, request: csi.NodePublishVolumeRequest) -> csi.NodePublishVolumeResponse:
        answer = await super().publish(request)
        if self.store is not None:
            target = Path(request.target_path)
            source = self.store / request.volume_id
            make = _touch if request.volume_capability.HasField("block") else _make
            make(source)
            make(target)
            await bind(source, target)
        return answer

    async def unpublish(
        self, request: csi.NodeUnpublishVolumeRequest
    ) -> csi.NodeUnpublishVolumeResponse:
        answer = await super().unpublish(request)
        if self.store is not None:
            target = Path(request.target_path)
            await unbind(target)
            _remove(target)
        return answer

    def registrar(self, endpoint: str) -> dict[str, Handler]:
        async def info(_: registration.InfoRequest) -> registration.PluginInfo:
            return registration.PluginInfo(
                type=self.type,
                name=self.name,
                endpoint=endpoint,
                supported_versions=list(self.versions),
            )

        async def notified(
            status: registration.RegistrationStatus,
        ) -> registration.RegistrationStatusResponse:
            self.told.append((status.plugin_registered, status.error))
            return registration.RegistrationStatusResponse()

        return dict(
            [
                answering(M.REGISTRATION_INFO, info),
                answering(M.NOTIFY_REGISTRATION_STATUS, notified),
            ]
        )

    @asynccontextmanager
    async def serving(self, directory: Path, registry: Path) -> AsyncIterator[None]:
        """On a socket of its own, and on one in a registration directory."""
        endpoint = directory / f"{self.name}.sock"
        socket = registry / f"{self.name}-reg.sock"
        async with (
            listening(f"unix://{endpoint}", self.handlers()),
            listening(f"unix://{socket}", self.registrar(str(endpoint))),
        ):
            yield


async def bind(source: Path, target: Path) -> None:
    if str(target) not in read_mount_points():
        await run(["mount", "--bind", source, target])


async def unbind(target: Path) -> None:
    while str(target) in read_mount_points():
        await run(["umount", target])


def _touch(path: Path) -> None:
    path.touch()


def _make(path: Path) -> None:
    path.mkdir(exist_ok=True)


def _remove(path: Path) -> None:
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
