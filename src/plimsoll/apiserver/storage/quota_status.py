"""Keeps the status of resource quotas true: what is used is counted anew after every change.

No controller is needed for that, and a quota never lags behind the objects it counts: its new
status is staged together with the change that made it necessary.
"""

from functools import cache

from plimsoll.api.registry import resources_by_path
from plimsoll.apiserver.admission.quota.usage import usage
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.resource_kinds import ResourceKind, kind_of


@cache
def _quotas() -> ResourceKind:
    return kind_of(resources_by_path()["", "v1", "resourcequotas"])


def refresh(cluster: StoredCluster, namespace: str) -> None:
    """Stage the status of the namespace's quotas where it changed."""
    if not namespace:
        return
    quotas = _quotas()
    collection = cluster.collection(quotas)
    if collection.is_empty:
        return
    for record in list(collection.newest_records(f"{namespace}/")):
        quota = record.document()
        status = {
            "hard": quota.get("spec", {}).get("hard", {}),
            "used": usage(quota, cluster.reader),
        }
        if quota.get("status") != status:
            cluster.put(quotas, record.key, quota | {"status": status})
