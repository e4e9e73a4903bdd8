"""A CSI driver in the test's own memory: what it was asked, what it has, and what goes wrong."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import StatusCode

from plimsoll.processes.controller.csi.csi_loop import CsiLoop, CsiSettings
from plimsoll.processes.controller.csi.drivers import DriverSources
from plimsoll.processes.controller.loops import LOOPS
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.clock import Clock
from plimsoll.simulator.stories.cluster import Make
from plimsoll.simulator.stories.story_process import StoryCsiLink
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import CsiStatusError, unreachable
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import Handler, InProcessCsi
from plimsoll.wire.csi.server import answering
from plimsoll.wire.csi.transport import CsiTransport, Permit, permit_always

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)

DRIVER = "disk.example.com"
EVERYTHING = (
    "PUBLISH_UNPUBLISH_VOLUME",
    "PUBLISH_READONLY",
    "EXPAND_VOLUME",
    "MODIFY_VOLUME",
    "CREATE_DELETE_SNAPSHOT",
    "LIST_SNAPSHOTS",
)
GIB = 1024**3


@dataclass
class PluginDisk:
    size_bytes: int = GIB
    nodes: set[str] = field(default_factory=set)
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass
class Plugin:
    """Disks by handle, snapshots by name. `failures` are used up, the oldest first."""

    capabilities: tuple[str, ...] = EVERYTHING
    disks: dict[str, PluginDisk] = field(default_factory=dict)
    snapshots: dict[str, csi.Snapshot] = field(default_factory=dict)
    failures: dict[str, list[CsiStatusError]] = field(default_factory=dict)
    asked: list[tuple[str, Message]] = field(default_factory=list)
    effects: Counter[str] = field(default_factory=Counter)
    on_effect: Callable[[], None] = lambda: None
    node_grows: bool = False
    limit_bytes: int = 1000 * GIB
    slow_snapshots: int = 0
    """So many times a snapshot is asked for before it can be used."""
    is_there: bool = True
    has_node_service: bool = False

    def fail(self, call: str, code: StatusCode, detail: str = "no", times: int = 1) -> None:
        self.failures.setdefault(call, []).extend([CsiStatusError(code, detail)] * times)

    def calls(self, name: str) -> list[Message]:
        return [request for call, request in self.asked if call == name]

    # What drivers answer

    def handlers(self) -> dict[str, Handler]:
        table = [
            self._answer(m.PROBE, lambda _: csi.ProbeResponse()),
            self._answer(m.GET_PLUGIN_INFO, lambda _: csi.GetPluginInfoResponse(name=DRIVER)),
            self._answer(m.GET_PLUGIN_CAPABILITIES, self._plugin),
            self._answer(m.CONTROLLER_GET_CAPABILITIES, self._controller),
            self._answer(m.CONTROLLER_PUBLISH_VOLUME, self._publish),
            self._answer(m.CONTROLLER_UNPUBLISH_VOLUME, self._unpublish),
            self._answer(m.CONTROLLER_EXPAND_VOLUME, self._expand),
            self._answer(m.CONTROLLER_MODIFY_VOLUME, self._modify),
            self._answer(m.CREATE_SNAPSHOT, self._take),
            self._answer(m.DELETE_SNAPSHOT, self._delete),
            self._answer(m.LIST_SNAPSHOTS, self._list),
        ]
        if self.has_node_service:
            table.append(self._answer(m.NODE_GET_CAPABILITIES, self._node))
        return dict(table)

    def _answer(self, method: m.Method[Q, R], answer: Callable[[Q], R]) -> tuple[str, Handler]:
        async def answered(request: Q) -> R:
            self.asked.append((method.call, request))
            waiting = self.failures.get(method.call)
            if waiting:
                raise waiting.pop(0)
            return answer(request)

        return answering(method, answered)

    def _plugin(self, _: csi.GetPluginCapabilitiesRequest) -> csi.GetPluginCapabilitiesResponse:
        service = csi.PluginCapability.Service(type="CONTROLLER_SERVICE")
        return csi.GetPluginCapabilitiesResponse(
            capabilities=[csi.PluginCapability(service=service)]
        )

    def _controller(
        self, _: csi.ControllerGetCapabilitiesRequest
    ) -> csi.ControllerGetCapabilitiesResponse:
        rpcs = [csi.ControllerServiceCapability.RPC(type=name) for name in self.capabilities]
        return csi.ControllerGetCapabilitiesResponse(
            capabilities=[csi.ControllerServiceCapability(rpc=rpc) for rpc in rpcs]
        )

    def _node(self, _: csi.NodeGetCapabilitiesRequest) -> csi.NodeGetCapabilitiesResponse:
        rpc = csi.NodeServiceCapability.RPC(type="EXPAND_VOLUME")
        return csi.NodeGetCapabilitiesResponse(capabilities=[csi.NodeServiceCapability(rpc=rpc)])

    def _disk(self, handle: str) -> PluginDisk:
        if handle not in self.disks:
            raise CsiStatusError(StatusCode.NOT_FOUND, f"no disk {handle}")
        return self.disks[handle]

    def _effect(self, what: str) -> None:
        self.effects[what] += 1
        self.on_effect()

    def _publish(
        self, request: csi.ControllerPublishVolumeRequest
    ) -> csi.ControllerPublishVolumeResponse:
        disk = self._disk(request.volume_id)
        if request.node_id not in disk.nodes:
            disk.nodes.add(request.node_id)
            self._effect("published")
        return csi.ControllerPublishVolumeResponse(publish_context={"lun": "7"})

    def _unpublish(
        self, request: csi.ControllerUnpublishVolumeRequest
    ) -> csi.ControllerUnpublishVolumeResponse:
        disk = self._disk(request.volume_id)
        if request.node_id in disk.nodes:
            disk.nodes.discard(request.node_id)
            self._effect("unpublished")
        return csi.ControllerUnpublishVolumeResponse()

    def _expand(
        self, request: csi.ControllerExpandVolumeRequest
    ) -> csi.ControllerExpandVolumeResponse:
        disk, wanted = self._disk(request.volume_id), request.capacity_range.required_bytes
        if wanted > self.limit_bytes:
            raise CsiStatusError(StatusCode.OUT_OF_RANGE, "larger than any disk")
        if wanted > disk.size_bytes:
            disk.size_bytes = wanted
            self._effect("expanded")
        return csi.ControllerExpandVolumeResponse(
            capacity_bytes=disk.size_bytes, node_expansion_required=self.node_grows
        )

    def _modify(
        self, request: csi.ControllerModifyVolumeRequest
    ) -> csi.ControllerModifyVolumeResponse:
        disk = self._disk(request.volume_id)
        if disk.attributes != dict(request.mutable_parameters):
            disk.attributes = dict(request.mutable_parameters)
            self._effect("modified")
        return csi.ControllerModifyVolumeResponse()

    def _take(self, request: csi.CreateSnapshotRequest) -> csi.CreateSnapshotResponse:
        disk = self._disk(request.source_volume_id)
        found = self.snapshots.get(request.name)
        if found is None:
            found = csi.Snapshot(
                snapshot_id=f"id-of-{request.name}",
                source_volume_id=request.source_volume_id,
                size_bytes=disk.size_bytes,
                creation_time=Timestamp(seconds=1_700_000_000),
                ready_to_use=self.slow_snapshots == 0,
            )
            self.snapshots[request.name] = found
            self._effect("taken")
        elif len(self.calls("CreateSnapshot")) > self.slow_snapshots:
            found.ready_to_use = True
        return csi.CreateSnapshotResponse(snapshot=found)

    def _delete(self, request: csi.DeleteSnapshotRequest) -> csi.DeleteSnapshotResponse:
        for name, found in list(self.snapshots.items()):
            if found.snapshot_id == request.snapshot_id:
                del self.snapshots[name]
                self._effect("deleted")
        return csi.DeleteSnapshotResponse()

    def _list(self, request: csi.ListSnapshotsRequest) -> csi.ListSnapshotsResponse:
        found = [s for s in self.snapshots.values() if s.snapshot_id == request.snapshot_id]
        entries = [csi.ListSnapshotsResponse.Entry(snapshot=snapshot) for snapshot in found]
        return csi.ListSnapshotsResponse(entries=entries)


class PluginTransport:
    """Reaches the plugin while it is there. Implements CsiTransport."""

    def __init__(self, plugin: Plugin, clock: Clock) -> None:
        self._plugin = plugin
        self._inner = InProcessCsi(plugin.handlers(), clock)

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        if not self._plugin.is_there:
            raise unreachable(method, "no driver listens there")
        return await self._inner.call(method, request, within=within, permit=permit)

    async def close(self) -> None:
        await self._inner.close()


def with_plugin(plugin: Plugin, *loops: str, tells_metadata: bool = False) -> dict[str, Make]:
    """Loops of the controller that work with the plugin."""
    return {name: _maker(name, plugin, tells_metadata=tells_metadata) for name in loops}


def _maker(name: str, plugin: Plugin, *, tells_metadata: bool) -> Make:
    def make(tools: Tools) -> Loop:
        transports: Mapping[str, CsiTransport] = {
            DRIVER: StoryCsiLink(PluginTransport(plugin, tools.clock))
        }
        sources = DriverSources(transports=transports)
        loop: Callable[..., CsiLoop] = LOOPS[name].make  # type: ignore[assignment]  # these take settings
        return loop(tools, CsiSettings(sources=sources, tells_metadata=tells_metadata))

    return make
