"""Inline ephemeral volumes: specified in the pod itself, without a claim, and deleted with it.

The node asks for such a volume only by publishing it, under a name that is unique for the pod. The
driver then creates it like any other volume, on this node, and removes it when it is unpublished.
"""

from collections.abc import Mapping
from pathlib import Path

from plimsoll.api.quantity import parse_bytes
from plimsoll.processes.driver.controller.creation import Creation
from plimsoll.processes.driver.controller.requests import EPHEMERAL
from plimsoll.processes.driver.node.node_context import NodeContext
from plimsoll.processes.driver.records import VolumeRecord
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.refusals import invalid_argument

PREFIX = "inline-"
SIZE = "size"


def is_inline(context: Mapping[str, str]) -> bool:
    return context.get(EPHEMERAL) == "true"


class Inline:
    def __init__(self, context: NodeContext, state_dir: Path) -> None:
        self._context = context
        self._creation = Creation(context.driver)
        self._state_dir = state_dir

    async def find(self, handle: str) -> VolumeRecord | None:
        """The volume that a pod knows by that handle."""
        found = await self._context.driver.records.volumes.find_by_name(f"{PREFIX}{handle}", {})
        return found if found is not None and found.is_inline else None

    def is_one(self, volume: VolumeRecord) -> bool:
        return volume.is_inline

    def staged_at(self, volume: VolumeRecord) -> Path:
        """kubelet does not stage it: the driver does, in a directory of its own."""
        return self._state_dir / "inline" / volume.id

    async def make(self, request: csi.NodePublishVolumeRequest) -> str:
        """The id of the volume, which is made unless it is there already."""
        context = request.volume_context
        parameters = {key: value for key, value in context.items() if key != SIZE}
        self._context.driver.check_home(self._context.configured)
        segment = csi.Topology(segments=dict(self._context.node.topology))
        created = await self._creation.create_volume(
            csi.CreateVolumeRequest(
                name=f"{PREFIX}{request.volume_id}",
                capacity_range=csi.CapacityRange(required_bytes=_size(context.get(SIZE, ""))),
                volume_capabilities=[request.volume_capability],
                parameters=parameters,
                accessibility_requirements=csi.TopologyRequirement(requisite=[segment]),
            )
        )
        return created.volume.volume_id

    async def remove(self, volume: VolumeRecord) -> None:
        staged_at = self.staged_at(volume)
        if staged_at.exists():
            staged_at.rmdir()
        await self._creation.delete_volume(csi.DeleteVolumeRequest(volume_id=volume.id))


def _size(given: str) -> int:
    """0: whatever is usual."""
    if not given:
        return 0
    try:
        return parse_bytes(given)
    except ValueError as error:
        raise invalid_argument(f"volume attribute {SIZE}: {given!r} is no size") from error
