"""A CSI driver for tests of nodes: it tells what it was asked, and fails when it is told to.

With a directory it binds what is there into pods, for real; without one it only keeps record.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plimsoll.runtime.commands import run
from plimsoll.runtime.files.mountinfo import read_mount_points
from plimsoll.wire.csi import methods as M  # noqa: N812 - a table of names
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.gen import csi_pb2 as csi, pluginregistration_pb2 as registration
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.server import answering, listening

_RPC = csi.NodeServiceCapability.RPC
STAGES, EXPANDS = _RPC.STAGE_UNSTAGE_VOLUME, _RPC.EXPAND_VOLUME
SETS_GROUP = _RPC.VOLUME_MOUNT_GROUP


@dataclass
class ScriptedDriver:
    name: str = "disk.example.com"
    node_id: str = "node-1"
    topology: Mapping[str, str] = field(default_factory=dict)
    limit: int = 0
    capabilities: Sequence[Any] = (STAGES,)
    store: Path | None = None
    """Where volumes are, one directory for each."""
    versions: Sequence[str] = ("1.0.0",)
    type: str = "CSIPlugin"
    calls: list[tuple[str, Any]] = field(default_factory=list)
    failures: dict[str, list[CsiStatusError]] = field(default_factory=dict)
    told: list[tuple[bool, str]] = field(default_factory=list)
    """What it heard about its registration."""

    @property
    def called(self) -> list[str]:
        """Without questions about itself."""
        return [name for name, _ in self.calls if not name.startswith("NodeGet")]

    def last(self, name: str) -> Any:
        return next(request for called, request in reversed(self.calls) if called == name)

    def fail(self, method: str, *errors: CsiStatusError) -> None:
        """The next calls of this method end like this, one after the other."""
        self.failures.setdefault(method, []).extend(errors)

    def handlers(self) -> dict[str, Handler]:
        table = [
            answering(M.NODE_GET_INFO, self._info),
            answering(M.NODE_GET_CAPABILITIES, self._capabilities),
            answering(M.NODE_STAGE_VOLUME, self._stage),
            answering(M.NODE_UNSTAGE_VOLUME, self._unstage),
            answering(M.NODE_PUBLISH_VOLUME, self._publish),
            answering(M.NODE_UNPUBLISH_VOLUME, self._unpublish),
            answering(M.NODE_EXPAND_VOLUME, self._expand),
        ]
        return dict(table)

    def _note(self, name: str, request: Any) -> None:
        self.calls.append((name, request))
        if self.failures.get(name):
            raise self.failures[name].pop(0)

    async def _info(self, request: csi.NodeGetInfoRequest) -> csi.NodeGetInfoResponse:
        self._note("NodeGetInfo", request)
        topology = csi.Topology(segments=dict(self.topology)) if self.topology else None
        return csi.NodeGetInfoResponse(
            node_id=self.node_id, max_volumes_per_node=self.limit, accessible_topology=topology
        )

    async def _capabilities(
        self, request: csi.NodeGetCapabilitiesRequest
    ) -> csi.NodeGetCapabilitiesResponse:
        self._note("NodeGetCapabilities", request)
        capabilities = [
            csi.NodeServiceCapability(rpc=_RPC(type=capability)) for capability in self.capabilities
        ]
        return csi.NodeGetCapabilitiesResponse(capabilities=capabilities)

    async def _stage(self, request: csi.NodeStageVolumeRequest) -> csi.NodeStageVolumeResponse:
        self._note("NodeStageVolume", request)
        if self.store is not None and not request.volume_capability.HasField("block"):
            source = self.store / request.volume_id
            source.mkdir(parents=True, exist_ok=True)
            await bind(source, Path(request.staging_target_path))
        return csi.NodeStageVolumeResponse()

    async def _unstage(
        self, request: csi.NodeUnstageVolumeRequest
    ) -> csi.NodeUnstageVolumeResponse:
        self._note("NodeUnstageVolume", request)
        if self.store is not None:
            await unbind(Path(request.staging_target_path))
        return csi.NodeUnstageVolumeResponse()

    async def _publish(
        self, request: csi.NodePublishVolumeRequest
    ) -> csi.NodePublishVolumeResponse:
        self._note("NodePublishVolume", request)
        if self.store is not None:
            target = Path(request.target_path)
            source = self.store / request.volume_id
            make = _touch if request.volume_capability.HasField("block") else _make
            make(source)
            make(target)
            await bind(source, target)
        return csi.NodePublishVolumeResponse()

    async def _unpublish(
        self, request: csi.NodeUnpublishVolumeRequest
    ) -> csi.NodeUnpublishVolumeResponse:
        self._note("NodeUnpublishVolume", request)
        if self.store is not None:
            target = Path(request.target_path)
            await unbind(target)
            _remove(target)
        return csi.NodeUnpublishVolumeResponse()

    async def _expand(self, request: csi.NodeExpandVolumeRequest) -> csi.NodeExpandVolumeResponse:
        self._note("NodeExpandVolume", request)
        return csi.NodeExpandVolumeResponse()

    # Over sockets

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
