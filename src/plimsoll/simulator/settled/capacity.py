"""The capacity that is published is what the drivers have, for every segment and class."""

from collections.abc import Iterator

from plimsoll.api.quantity import parse_bytes
from plimsoll.decide.capacity.segments import Segment, segment_of
from plimsoll.processes.driver.settings import topology_key
from plimsoll.simulator.cluster.driver_host import CsiLink
from plimsoll.simulator.cluster.mirror import (
    CAPACITIES,
    NODES,
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
    told_of: set[tuple[str, Segment]] = set()
    for key, document in sorted(published.items()):
        class_ = classes.get(document["storageClassName"])
        if class_ is None:
            continue
        link = CsiLink(cluster.drivers[class_.driver], cluster.shape.nodes[0].name, cluster.user)
        labels = (document.get("nodeTopology") or {}).get("matchLabels") or {}
        told_of.add((class_.name, segment_of(labels)))
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
    for class_name, segment in sorted({*_segments_of_classes(cluster)} - told_of):
        place = ", ".join(f"{label}={value}" for label, value in segment)
        message = f"no object tells of class {class_name} where {place}"
        found.append(Unsettled(invariant=Invariant.CAPACITY_IS_TRUE, message=message))
    return found


def _segments_of_classes(cluster: SimulatedCluster) -> Iterator[tuple[str, Segment]]:
    """Of which there must be an object: provisioners publish none for classes that bind at once."""
    keys = {
        driver.name: [topology_key(driver.name, key) for key in driver.keys]
        for driver in cluster.shape.drivers
        if driver.tracks_capacity
    }
    labels = [
        node["metadata"].get("labels") or {} for node in cluster.mirror.objects[NODES].values()
    ]
    for class_ in cluster.shape.classes:
        for told in labels:
            wanted = keys.get(class_.driver)
            if wanted and not class_.is_immediate and told.keys() >= {*wanted}:
                yield class_.name, segment_of({key: told[key] for key in wanted})
