"""CSI's node service: requests are read and checked here, and answered.

Calls for one volume never overlap, with each other or with the controller's, and go on when their
caller has gone away.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from plimsoll.processes.driver.controller.requests import parse_capability, required
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.node.deleted_volumes import DeletedVolumes
from plimsoll.processes.driver.node.inline import Inline, is_inline
from plimsoll.processes.driver.node.mounting.choice import chosen, state_dir
from plimsoll.processes.driver.node.node_context import NodeContext, Use, failures_told
from plimsoll.processes.driver.node.publishing import NodePublishing
from plimsoll.processes.driver.node.staging import Staging
from plimsoll.processes.driver.node.volume_stats import usages
from plimsoll.processes.driver.node.withholding import Withholding
from plimsoll.processes.driver.records import RecordPhase, VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings, NodeSettings
from plimsoll.processes.driver.work import node_key, volume_key
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.refusals import (
    failed_precondition,
    invalid_argument,
    not_found,
    out_of_range,
)
from plimsoll.wire.csi.server import answering

PATH_BYTES, PART_BYTES = 4095, 255
"""What the kernel takes."""
RPC = csi.NodeServiceCapability.RPC
CAPABILITIES = (
    RPC.STAGE_UNSTAGE_VOLUME,
    RPC.GET_VOLUME_STATS,
    RPC.VOLUME_CONDITION,
    RPC.SINGLE_NODE_MULTI_WRITER,
)


FindVolume = Callable[[str], Awaitable[VolumeRecord | None]]


class NodeService:
    def __init__(self, driver: Driver, node: NodeSettings, settings: BackendSettings) -> None:
        own = state_dir(settings.data_dir, node.id)
        self._context = NodeContext(driver, node, chosen(settings.mounts, own))
        self._staging = Staging(self._context)
        self._publishing = NodePublishing(self._context)
        self._deleted = DeletedVolumes(self._context)
        self._inline = Inline(self._context, own)
        self._withholding = Withholding(self._context)
        driver.in_use.append(self.in_use)
        driver.fenced_nodes.append(self._withholding)

    def handlers(self) -> dict[str, Handler]:
        return dict(
            [
                answering(methods.NODE_GET_INFO, self.get_info),
                answering(methods.NODE_GET_CAPABILITIES, self.get_capabilities),
                answering(methods.NODE_STAGE_VOLUME, self.stage),
                answering(methods.NODE_UNSTAGE_VOLUME, self.unstage),
                answering(methods.NODE_PUBLISH_VOLUME, self.publish),
                answering(methods.NODE_UNPUBLISH_VOLUME, self.unpublish),
                answering(methods.NODE_GET_VOLUME_STATS, self.get_volume_stats),
                answering(methods.NODE_EXPAND_VOLUME, self.expand),
            ]
        )

    def in_use(self, volume: VolumeRecord) -> str:
        """Where the volume is staged or published on this node, for people; empty: nowhere.

        What a lost node still shows of a volume that was detached from it does not count.
        """
        if not self._context.is_attached(volume):
            return ""
        return ", ".join(f"mounted at {shown.path}" for shown in self._context.places(volume))

    async def get_info(self, _: csi.NodeGetInfoRequest) -> csi.NodeGetInfoResponse:
        node = self._context.node
        self._context.driver.check_home(node)
        topology = csi.Topology(segments=dict(node.topology)) if node.topology else None
        return csi.NodeGetInfoResponse(
            node_id=node.id, max_volumes_per_node=node.max_volumes, accessible_topology=topology
        )

    async def get_capabilities(
        self, _: csi.NodeGetCapabilitiesRequest
    ) -> csi.NodeGetCapabilitiesResponse:
        kinds = CAPABILITIES if self._context.can_open else ()
        if self._context.can_open and self._context.driver.backend.features.expansion:
            kinds = (*kinds, RPC.EXPAND_VOLUME)
        return csi.NodeGetCapabilitiesResponse(
            capabilities=[csi.NodeServiceCapability(rpc=RPC(type=kind)) for kind in kinds]
        )

    async def stage(self, request: csi.NodeStageVolumeRequest) -> csi.NodeStageVolumeResponse:
        volume_id = required(request.volume_id, "volume_id")
        path = _path(request.staging_target_path, "staging_target_path")
        use = _use(request.volume_capability)

        async def stage(volume: VolumeRecord) -> None:
            await self._withholding.restore(volume)
            await self._staging.stage(await self._context.adopted(volume, use), path, use)

        await self._alone(volume_id, stage)
        return csi.NodeStageVolumeResponse()

    async def unstage(self, request: csi.NodeUnstageVolumeRequest) -> csi.NodeUnstageVolumeResponse:
        volume_id = required(request.volume_id, "volume_id")
        path = _path(request.staging_target_path, "staging_target_path")

        async def unstage(volume: VolumeRecord) -> None:
            await self._staging.unstage(volume, path)
            self._withholding.forget_gone(volume)

        # A repeated call must succeed, also for a volume that is gone.
        if await self._find_any(volume_id) is not None:
            await self._alone(volume_id, unstage, finds=self._find_any)
        else:
            await self._deleted.unstage(volume_id, path)
        return csi.NodeUnstageVolumeResponse()

    async def publish(self, request: csi.NodePublishVolumeRequest) -> csi.NodePublishVolumeResponse:
        volume_id = required(request.volume_id, "volume_id")
        target = _path(request.target_path, "target_path")
        use = _use(request.volume_capability)
        inline = is_inline(request.volume_context)
        if inline:
            volume_id = await self._inline.make(request)
        elif (known := await self._find(volume_id)) is not None and not request.staging_target_path:
            if not self._context.can_open:
                await self._context.driver.backend.open(
                    known, self._context.node.id
                )  # says why not
            raise failed_precondition(f"volume {volume_id}: staging_target_path must be given")

        async def publish(volume: VolumeRecord) -> None:
            await self._withholding.restore(volume)
            staged_at = _readable(request.staging_target_path, "staging_target_path")
            if inline:
                staged_at = self._inline.staged_at(volume)
                await self._staging.stage(volume, staged_at, use)
            await self._publishing.publish(
                volume, target, use, staged_at=staged_at, read_only=request.readonly
            )

        await self._alone(volume_id, publish)
        return csi.NodePublishVolumeResponse()

    async def unpublish(
        self, request: csi.NodeUnpublishVolumeRequest
    ) -> csi.NodeUnpublishVolumeResponse:
        volume_id = required(request.volume_id, "volume_id")
        target = _path(request.target_path, "target_path")
        volume = await self._find_any(volume_id)

        async def unpublish(volume: VolumeRecord) -> None:
            await self._publishing.unpublish(volume, target)
            self._withholding.forget_gone(volume)
            if self._inline.is_one(volume):
                await self._staging.unstage(volume, self._inline.staged_at(volume))

        if volume is not None:
            await self._alone(volume_id, unpublish, finds=self._find_any)
            if self._inline.is_one(volume):
                await self._inline.remove(volume)
        else:
            await self._deleted.unpublish(volume_id, target)
        return csi.NodeUnpublishVolumeResponse()

    async def get_volume_stats(
        self, request: csi.NodeGetVolumeStatsRequest
    ) -> csi.NodeGetVolumeStatsResponse:
        volume_id = required(request.volume_id, "volume_id")
        path = _readable(required(request.volume_path, "volume_path"), "volume_path")
        volume = await self._volume(volume_id)
        self._check_place(volume, path)
        condition = await self._context.driver.backend.condition(volume)
        usage: Sequence[csi.VolumeUsage] = ()
        try:
            with failures_told(volume_id):
                usage = await usages(self._context, volume, path)
        except CsiStatusError:
            # What is wrong with a volume may be that it cannot be looked at.
            if not condition.abnormal:
                raise
        return csi.NodeGetVolumeStatsResponse(
            usage=usage,
            volume_condition=csi.VolumeCondition(
                abnormal=condition.abnormal, message=condition.message
            ),
        )

    async def expand(self, request: csi.NodeExpandVolumeRequest) -> csi.NodeExpandVolumeResponse:
        volume_id = required(request.volume_id, "volume_id")
        path = _readable(required(request.volume_path, "volume_path"), "volume_path")
        wanted = request.capacity_range.required_bytes

        async def expand(volume: VolumeRecord) -> int:
            self._check_place(volume, path)
            if wanted > volume.size_bytes:
                raise out_of_range(
                    f"volume {volume.id}: has {volume.size_bytes} bytes, {wanted} are wanted; call"
                    " ControllerExpandVolume first"
                )
            await self._staging.grow(volume)
            return volume.size_bytes

        sizes: list[int] = []

        async def expanded(volume: VolumeRecord) -> None:
            sizes.append(await expand(volume))

        await self._alone(volume_id, expanded)
        return csi.NodeExpandVolumeResponse(capacity_bytes=sizes[0])

    def _check_place(self, volume: VolumeRecord, path: Path) -> None:
        candidates = (path, path / "device")
        if not any(self._context.place(volume, candidate) for candidate in candidates):
            raise not_found(f"volume {volume.id}: is not at {path}")

    async def _alone(
        self,
        volume_id: str,
        work: Callable[[VolumeRecord], Awaitable[None]],
        finds: FindVolume | None = None,
    ) -> None:
        volume_id = (await self._volume(volume_id, finds)).id

        async def told() -> None:
            with failures_told(volume_id):
                await work(await self._volume(volume_id, finds))

        driver = self._context.driver

        async def in_turn() -> None:
            async with driver.turn(volume_id):
                await driver.work.alone(told, volume_key(volume_id))

        await driver.work.alone(in_turn, node_key(volume_id, self._context.node.id))

    async def _volume(self, volume_id: str, finds: FindVolume | None = None) -> VolumeRecord:
        """Raises CsiStatusError (NOT_FOUND)."""
        found = await (finds or self._find)(volume_id)
        return found or await self._context.driver.volume(volume_id)

    async def _find(self, volume_id: str) -> VolumeRecord | None:
        known = await self._find_any(volume_id)
        return known if known is not None and known.phase is RecordPhase.READY else None

    async def _find_any(self, volume_id: str) -> VolumeRecord | None:
        """Also one that is being removed: what is mounted of it has to go all the more."""
        known = await self._context.driver.records.volumes.find(volume_id)
        return known or await self._inline.find(volume_id)


def _path(given: str, field: str) -> Path:
    path = _readable(required(given, field), field)
    if not path.is_absolute():
        raise invalid_argument(f"{field}: {given} is not absolute")
    if path == Path("/") or ".." in path.parts:
        raise invalid_argument(f"{field}: {given} is the root, or leads up; give the plain path")
    return path


def _readable(given: str, field: str) -> Path:
    """Refuses what the kernel would not take for a path."""
    parts = Path(given).parts
    if "\0" in given or len(given.encode()) > PATH_BYTES:
        raise invalid_argument(f"{field}: is no path: it has a NUL, or over {PATH_BYTES} bytes")
    if any(len(part.encode()) > PART_BYTES for part in parts):
        raise invalid_argument(f"{field}: is no path: a part of it has over {PART_BYTES} bytes")
    return Path(given)


def _use(given: csi.VolumeCapability) -> Use:
    return Use(capability=parse_capability(given))
