"""A plot for clusters in which each node has a provisioner of its own."""

from random import Random

from plimsoll.simulator.cluster.shape import ClusterShape
from plimsoll.simulator.scenario import faults
from plimsoll.simulator.scenario.generated.cluster import LOCAL, ZONAL, happens
from plimsoll.simulator.scenario.generated.groups import pair_of, refuses
from plimsoll.simulator.scenario.generated.plots import LASTING, Event


def lose_provisioners_at_work(chance: Random, shape: ClusterShape) -> list[Event]:
    """Some nodes lose their provisioners right after these have made a volume of a pod. The other
    volume is refused, so that another node serves the claim before they come back."""
    begun = round(chance.uniform(0.0, LASTING * 0.6), 3)
    replicas = chance.randint(1, 2)
    lasting = round(chance.uniform(30.0, 120.0), 3)
    # The intent is stored, and says that the volume is made: two writes of its lease.
    writes = chance.choice((1, 2, 2, 3))
    lost: list[Event] = [
        faults.Cut(
            at=begun,
            what=f"provisioner-{LOCAL}-{node.name}",
            lasting=lasting,
            after_writes=writes,
            resource="leases",
        )
        for node in shape.nodes
        if happens(chance, 0.5)
    ]
    return [
        *lost,
        pair_of(begun + 0.5, "torn", (LOCAL, ZONAL), replicas),
        refuses(begun, ZONAL, replicas),
    ]
