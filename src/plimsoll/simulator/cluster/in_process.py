"""Disks that a provisioner inside the controller makes, in a cloud that outlives every controller.

Each call takes time before and after it has its effect: a controller may be cut off in between.
"""

from plimsoll.api.core import Node
from plimsoll.api.storage import StorageClass
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    MadeVolume,
    Provisioner,
    ProvisionerError,
    ProvisionRequest,
    Trouble,
)
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import (
    CloudDisk,
    SimulatedCloud,
    ZoneFullError,
)
from plimsoll.runtime.blocking import Blocking
from plimsoll.simulator.cluster.shape import IN_PROCESS, ZONE

PLACE = "/simulated/"
SLOWEST_SECONDS = 2.0
"""Of each half of a call."""


class SimulatedDisks(Provisioner):
    name = IN_PROCESS

    def __init__(self, cloud: SimulatedCloud, blocking: Blocking) -> None:
        self._cloud = cloud
        self._blocking = blocking

    async def provision(self, request: ProvisionRequest) -> MadeVolume:
        node = request.selected_node or next(iter(request.nodes()), None)
        if node is None:
            raise ProvisionerError(Trouble.TRY_AGAIN, "there is no node")
        wanted = CloudDisk(
            name=request.volume_name,
            size_bytes=request.requested_bytes,
            type="simulated",
            zones=(node.labels[ZONE],),
        )
        try:
            # One that is there is described as it is: for another node it has another name.
            disk = await self._blocking(lambda: self._cloud.create(wanted))
        except ZoneFullError as error:
            raise ProvisionerError(Trouble.WRONG_NODE, str(error)) from error
        return MadeVolume(
            source={"hostPath": {"path": f"{PLACE}{disk.name}"}},
            reachable_from={ZONE: disk.zones},
        )

    async def delete(self, request: DeleteRequest) -> None:
        await self._blocking(lambda: self._cloud.delete(request.volume_name))

    async def free_bytes(self, storage_class: StorageClass, node: Node | None) -> int | None:
        del storage_class
        return None if node is None else self._cloud.free_bytes(node.labels[ZONE])
