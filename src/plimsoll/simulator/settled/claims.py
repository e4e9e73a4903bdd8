"""Claims that have no volume, or half of one, although there is room for it."""

from plimsoll.simulator.cluster.mirror import (
    CLAIMS,
)
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.settled.copies import (
    lacks_source,
    requested_bytes,
)
from plimsoll.simulator.settled.unsettled import Unsettled, stuck


async def unsettled_claims(cluster: SimulatedCluster) -> list[Unsettled]:
    """Those that need no pod to get their volumes, and those that have half of one."""
    immediate = {
        each.name: each.driver
        for each in cluster.shape.classes
        # Of any other class it is not known which pools would do.
        if each.is_immediate and each.driver in cluster.drivers
        if not (each.allowed or each.parameters)
    }
    most = {
        driver: max((await cluster.drivers[driver].free_bytes()).values(), default=0)
        for driver in sorted({*immediate.values()})
    }
    found: list[Unsettled] = []
    for key, claim in sorted(cluster.mirror.objects[CLAIMS].items()):
        if (claim.get("status") or {}).get("phase") in ("Bound", "Lost"):
            continue
        driver = immediate.get(claim["spec"].get("storageClassName", ""))
        if volume := claim["spec"].get("volumeName"):
            found.append(stuck(f"claim {key} names {volume}, and is not bound"))
        elif lacks_source(cluster, claim):
            continue
        elif driver is not None and most[driver] >= requested_bytes(claim):
            found.append(stuck(f"claim {key} has no volume, and {driver} could make one"))
    return found
