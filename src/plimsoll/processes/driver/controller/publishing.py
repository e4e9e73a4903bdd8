"""ControllerPublishVolume and its opposite: which nodes a volume is attached to.

Only for backends whose volumes must be attached. One node at a time has a volume unless the access
mode says otherwise, one at a time writes to it where the mode says that, and no node gets more
volumes than it can have.
"""

from collections.abc import Iterable

import msgspec

from plimsoll.processes.driver.controller.placement import is_reachable
from plimsoll.processes.driver.controller.requests import (
    MULTI_NODE,
    READERS,
    RequestedCapability,
    parse_capability,
    required,
    unsupported,
)
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.domains.fences import is_in
from plimsoll.processes.driver.records import Attachment, VolumeRecord
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.processes.driver.work import volume_key
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.refusals import (
    already_exists,
    failed_precondition,
    invalid_argument,
    not_found,
    resource_exhausted,
)

ONE_WRITER = "MULTI_NODE_SINGLE_WRITER"


class ControllerPublishing:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def publish_volume(
        self, request: csi.ControllerPublishVolumeRequest
    ) -> csi.ControllerPublishVolumeResponse:
        volume_id = required(request.volume_id, "volume_id")
        node_id = required(request.node_id, "node_id")
        if not request.HasField("volume_capability"):
            raise invalid_argument("volume_capability: must be given")
        capability = parse_capability(request.volume_capability)
        self._check(await self._driver.volume(volume_id), capability)
        node = self._driver.find_node(node_id)
        if node is None:
            raise not_found(f"node {node_id}: is not served by this driver")
        read_only = request.readonly or capability.access_mode in READERS
        wanted = Attachment(
            node_id=node_id, read_only=read_only, access_mode=capability.access_mode
        )

        async def attach() -> dict[str, str]:
            return await self._attach(await self._driver.volume(volume_id), node, wanted)

        context = await self._driver.work.alone(attach, volume_key(volume_id))
        return csi.ControllerPublishVolumeResponse(publish_context=context)

    def _check(self, volume: VolumeRecord, capability: RequestedCapability) -> None:
        if problem := unsupported(capability, self._driver.backend.features):
            raise invalid_argument(f"volume_capability: {problem}")
        if capability.mode is not volume.mode:
            raise invalid_argument(f"volume_capability: volume {volume.id} is a {volume.mode} one")

    async def _attach(
        self, volume: VolumeRecord, node: NodeSettings, wanted: Attachment
    ) -> dict[str, str]:
        self._driver.fences.check(node)
        known = next((item for item in volume.attachments if item.node_id == node.id), None)
        if known is None:
            self._check_place(volume, node)
            _check_others(volume, wanted)
            self._check_limit(node)
            await self._record(volume, (*volume.attachments, wanted))
        elif known.read_only != wanted.read_only:
            how = "read-only" if known.read_only else "for writing"
            raise already_exists(f"volume {volume.id}: is attached to node {node.id} {how}")
        try:
            attached = await self._driver.volume(volume.id)
            return dict(await self._driver.backend.attach(attached, node.id))
        except Exception:
            if known is None:
                await self._detach(volume.id, node.id)
            raise

    def _check_place(self, volume: VolumeRecord, node: NodeSettings) -> None:
        """Other domains may serve the volume once its own is fenced."""
        self._driver.check_home(node)
        if is_reachable(volume.placement.topology, node.topology):
            return
        if not (volume.placement.served_from and self._is_fenced(volume)):
            raise failed_precondition(
                f"volume {volume.id}: cannot be reached from node {node.id}, whose topology is"
                f" {dict(node.topology)}"
            )

    def _is_fenced(self, volume: VolumeRecord) -> bool:
        fenced = [each.domain for each in self._driver.fences.all() if each.is_complete]
        homes = volume.placement.topology
        return all(any(is_in(home, domain) for domain in fenced) for home in homes)

    def _check_limit(self, node: NodeSettings) -> None:
        attached = self._driver.records.attached_to(node.id)
        if node.max_volumes and attached >= node.max_volumes:
            raise resource_exhausted(
                f"node {node.id}: has {attached} volumes attached, no more are possible"
            )

    async def _record(self, volume: VolumeRecord, attachments: Iterable[Attachment]) -> None:
        changed = msgspec.structs.replace(volume, attachments=tuple(attachments))
        await self._driver.records.volumes.put(changed)

    async def unpublish_volume(
        self, request: csi.ControllerUnpublishVolumeRequest
    ) -> csi.ControllerUnpublishVolumeResponse:
        volume_id = required(request.volume_id, "volume_id")
        volume = await self._driver.records.volumes.find(volume_id)
        if volume is None:
            return csi.ControllerUnpublishVolumeResponse()
        nodes = [item.node_id for item in volume.attachments]

        async def detach() -> None:
            for node_id in nodes:
                if request.node_id in ("", node_id):
                    await self._detach(volume_id, node_id)

        await self._driver.work.alone(detach, volume_key(volume_id))
        return csi.ControllerUnpublishVolumeResponse()

    async def _detach(self, volume_id: str, node_id: str) -> None:
        """Detach, then remove the record: what may still be attached counts as attached."""
        volume = await self._driver.volume(volume_id)
        await self._driver.backend.detach(volume, node_id)
        left = (item for item in volume.attachments if item.node_id != node_id)
        await self._record(await self._driver.volume(volume_id), left)


def _check_others(volume: VolumeRecord, wanted: Attachment) -> None:
    for other in volume.attachments:
        if not {other.access_mode, wanted.access_mode} <= MULTI_NODE:
            raise failed_precondition(
                f"volume {volume.id}: is attached to node {other.node_id} and can be on one node at"
                " a time; detach it there first"
            )
        modes = {other.access_mode, wanted.access_mode}
        if ONE_WRITER in modes and not (other.read_only or wanted.read_only):
            raise failed_precondition(
                f"volume {volume.id}: node {other.node_id} writes to it, and only one may"
            )
