"""All checks of a cluster some time after the last fault."""

from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.settled.assets import (
    intents_left,
    leaked_and_lost_disks,
    leaked_and_lost_volumes,
    suspected_volumes,
    unreclaimed_volumes,
)
from plimsoll.simulator.settled.capacity import untrue_capacity
from plimsoll.simulator.settled.claims import unsettled_claims
from plimsoll.simulator.settled.copies import (
    unsettled_copies,
)
from plimsoll.simulator.settled.groups import unsettled_groups
from plimsoll.simulator.settled.pods import Refusals, unsettled_pods
from plimsoll.simulator.settled.rollbacks import unsettled_rollbacks
from plimsoll.simulator.settled.scheduler import reservations_left, untrue_caches
from plimsoll.simulator.settled.takeovers import unsettled_takeovers
from plimsoll.simulator.settled.unsettled import Unsettled


async def unsettled(cluster: SimulatedCluster, refusals: Refusals) -> list[Unsettled]:
    """Everything that is not yet as it has to be."""
    suspected = await suspected_volumes(cluster)
    found = [
        *leaked_and_lost_volumes(cluster, suspected),
        *leaked_and_lost_disks(cluster),
        *unreclaimed_volumes(cluster),
    ]
    found += [*untrue_caches(cluster), *reservations_left(cluster)]
    found += await unsettled_pods(cluster, refusals)
    found += await unsettled_claims(cluster)
    found += await unsettled_copies(cluster)
    found += await intents_left(cluster, suspected)
    found += await untrue_capacity(cluster)
    for left in await unsettled_groups(cluster):
        found.append(Unsettled(invariant=Invariant.NO_HOLDS_LEFT, message=left))
    for left in await unsettled_rollbacks(cluster):
        found.append(Unsettled(invariant=Invariant.ROLLBACKS_END, message=left))
    for left in await unsettled_takeovers(cluster):
        found.append(Unsettled(invariant=Invariant.TAKEOVERS_END, message=left))
    return found
