"""A CSI driver on a node, in memory: it tells what it was asked, and fails when it is told to."""

from asyncio import Event
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plimsoll.wire.csi import methods as M  # noqa: N812 - a table of names
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.server import answering

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
    calls: list[tuple[str, Any]] = field(default_factory=list)
    failures: dict[str, list[CsiStatusError]] = field(default_factory=dict)
    may_tell: Event = field(default_factory=Event)
    """Set unless it shall leave NodeGetInfo without an answer."""

    def __post_init__(self) -> None:
        self.may_tell.set()

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
            answering(M.NODE_STAGE_VOLUME, self.stage),
            answering(M.NODE_UNSTAGE_VOLUME, self.unstage),
            answering(M.NODE_PUBLISH_VOLUME, self.publish),
            answering(M.NODE_UNPUBLISH_VOLUME, self.unpublish),
            answering(M.NODE_EXPAND_VOLUME, self._expand),
        ]
        return dict(table)

    def _note(self, name: str, request: Any) -> None:
        self.calls.append((name, request))
        if self.failures.get(name):
            raise self.failures[name].pop(0)

    async def _info(self, request: csi.NodeGetInfoRequest) -> csi.NodeGetInfoResponse:
        self._note("NodeGetInfo", request)
        await self.may_tell.wait()
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

    async def stage(self, request: csi.NodeStageVolumeRequest) -> csi.NodeStageVolumeResponse:
        self._note("NodeStageVolume", request)
        return csi.NodeStageVolumeResponse()

    async def unstage(self, request: csi.NodeUnstageVolumeRequest) -> csi.NodeUnstageVolumeResponse:
        self._note("NodeUnstageVolume", request)
        return csi.NodeUnstageVolumeResponse()

    async def publish(self, request: csi.NodePublishVolumeRequest) -> csi.NodePublishVolumeResponse:
        self._note("NodePublishVolume", request)
        return csi.NodePublishVolumeResponse()

    async def unpublish(
        self, request: csi.NodeUnpublishVolumeRequest
    ) -> csi.NodeUnpublishVolumeResponse:
        self._note("NodeUnpublishVolume", request)
        return csi.NodeUnpublishVolumeResponse()

    async def _expand(self, request: csi.NodeExpandVolumeRequest) -> csi.NodeExpandVolumeResponse:
        self._note("NodeExpandVolume", request)
        return csi.NodeExpandVolumeResponse()
