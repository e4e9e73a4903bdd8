"""Keeps the status of resource quotas true: it is compared with what is used after every change.

No controller is needed for that, and a quota never lags behind the objects it counts: its new
status is staged together with the change that made it necessary.
"""

from functools import cache

from plimsoll.api.registry import resources_by_path
from plimsoll.apiserver.admission.quota.usage import counted_sets, usage
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.resource_kinds import ResourceKind, kind_of

UNCOUNTED_RECORDS = 500
"""So many objects can be counted on the event loop."""


@cache
def _quotas() -> ResourceKind:
    return kind_of(resources_by_path()["", "v1", "resourcequotas"])


def is_uncounted(cluster: StoredCluster, kind: ResourceKind, namespace: str) -> bool:
    """Whether the write may be the first that asks what many objects use up: that takes long."""
    quotas = cluster.collection(_quotas())
    if not namespace or (quotas.is_empty and kind is not _quotas()):
        return False
    if kind is _quotas():
        return True
    return any(
        len(collection := cluster.versions.collection(f"{plural}.{group}" if group else plural))
        > UNCOUNTED_RECORDS
        and collection.find_tally(namespace, scopes) is None
        for record in quotas.newest_records(f"{namespace}/")
        for group, plural, scopes in counted_sets(record.document())
    )


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
