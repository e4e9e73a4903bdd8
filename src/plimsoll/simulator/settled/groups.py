"""Groups and holds some time after the last fault: none outlives what it is for."""

from collections.abc import Iterator

from plimsoll.api.core import Lease
from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.records import RECORD
from plimsoll.decide.scheduling.binding.groups import GROUP, Group, read_group
from plimsoll.simulator.cluster.mirror import CLAIMS, PODS
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.parameters import Selection

LEASES = documents(typed(Lease).resource)


async def unsettled_groups(cluster: SimulatedCluster) -> list[str]:
    """What is left over, in a sentence each."""
    leases = await cluster.client.list(LEASES, Selection(labels=f"{RECORD}={GROUP}"))
    groups = [group for lease in leases.items if (group := read_group(lease)) is not None]
    pods = cluster.mirror.objects[PODS]
    told = [*_left_groups(groups, pods), *_left_holds(groups, cluster.mirror.objects[CLAIMS])]
    return sorted(told)


def _left_groups(groups: list[Group], pods: dict[str, Document]) -> Iterator[str]:
    for group in groups:
        pod = pods.get(str(group.pod_key))
        if pod is None or pod["metadata"]["uid"] != group.pod_uid:
            yield f"{group.name} is still {group.state}, and its pod is gone"
        elif pod["spec"].get("nodeName"):
            yield f"{group.name} is still {group.state}, and its pod has a node"


def _left_holds(groups: list[Group], claims: dict[str, Document]) -> Iterator[str]:
    known = {group.hold_id for group in groups if not group.is_over}
    for key, claim in claims.items():
        hold = (claim["metadata"].get("annotations") or {}).get(HOLD, "")
        if hold and hold.rpartition("/")[0] not in known:
            yield f"claim {key} is held ({hold}), and no group holds it"
