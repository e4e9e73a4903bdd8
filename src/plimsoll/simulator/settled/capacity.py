"""The capacity that is published is what the drivers have."""

from plimsoll.api.quantity import parse_bytes
from plimsoll.simulator.cluster.driver_host import CsiLink
from plimsoll.simulator.cluster.mirror import (
    CAPACITIES,
)
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.settled.unsettled import Unsettled
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi


async def untrue_capacity(cluster: SimulatedCluster) -> list[Unsettled]:
    found: list[Unsettled] = []
    published = cluster.mirror.objects[CAPACITIES]
    classes = {class_.name: class_ for class_ in cluster.shape.classes}
    wanted = 0
    for key, document in sorted(published.items()):
        class_ = classes.get(document["storageClassName"])
        if class_ is None:
            continue
        wanted += 1
        link = CsiLink(cluster.drivers[class_.driver], cluster.shape.nodes[0].name, cluster.user)
        labels = (document.get("nodeTopology") or {}).get("matchLabels") or {}
        request = csi.GetCapacityRequest(
            parameters=class_.parameters, accessible_topology=csi.Topology(segments=labels)
        )
        answer = await CsiClient(link, within=seconds(10)).call(methods.GET_CAPACITY, request)
        told = parse_bytes(str(document.get("capacity", "0")))
        if told != answer.available_capacity:
            found.append(
                Unsettled(
                    invariant=Invariant.CAPACITY_IS_TRUE,
                    message=f"{key} says {told}, the driver {answer.available_capacity}",
                )
            )
    return found
