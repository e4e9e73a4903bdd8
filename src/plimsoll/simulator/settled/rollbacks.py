"""Rollbacks some time after the last fault: each has ended, or waits for a pod."""

from plimsoll.api.core import Lease
from plimsoll.api.registry import Document
from plimsoll.decide.records import RECORD
from plimsoll.decide.rollback.records import (
    ROLLBACK_KIND,
    RollbackRecord,
    RollbackState,
    read_rollback,
)
from plimsoll.simulator.cluster.mirror import CLAIMS, PODS
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.volume_reach import claims_of
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.parameters import Selection

LEASES = documents(typed(Lease).resource)


async def unsettled_rollbacks(cluster: SimulatedCluster) -> list[str]:
    """What is left over, in a sentence each."""
    leases = await cluster.client.list(LEASES, Selection(labels=f"{RECORD}={ROLLBACK_KIND}"))
    records = [found for lease in leases.items if (found := read_rollback(lease)) is not None]
    return sorted(
        f"the rollback of {record.volume_name} is still {record.state}"
        for record in records
        if not _is_kept(record) and not _waits_for_pod(cluster, record)
    )


def _is_kept(record: RollbackRecord) -> bool:
    """An administrator has been told, and looks at the data."""
    return record.state is RollbackState.KEPT and record.was_used


def _waits_for_pod(cluster: SimulatedCluster, record: RollbackRecord) -> bool:
    """A pod got a node before the claim was deleted: the claim stays as long as the pod does."""
    claim = cluster.mirror.objects[CLAIMS].get(str(record.claim_key))
    if claim is None or "deletionTimestamp" not in claim["metadata"]:
        return False
    pods = cluster.mirror.objects[PODS].values()
    return any(_uses(pod, claim) for pod in pods if pod["spec"].get("nodeName"))


def _uses(pod: Document, claim: Document) -> bool:
    is_here = pod["metadata"]["namespace"] == claim["metadata"]["namespace"]
    return is_here and claim["metadata"]["name"] in claims_of(pod)
