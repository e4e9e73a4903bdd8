"""The roles and bindings that every cluster begins with: there when the server is ready."""

from plimsoll.apiserver.access.rbac.bootstrap import (
    bootstrap_roles,
    is_rebound,
    qualified,
    reconciled,
)
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.upkeep.own_writes import OwnWrites


async def reconcile_bootstrap_roles(cluster: StoredCluster) -> None:
    for plural, expected in bootstrap_roles().by_plural().items():
        writes = OwnWrites(cluster, qualified(plural))
        for document in expected:
            meta = document["metadata"]
            home = meta.get("namespace")
            record = writes.find(f"{home}/{meta['name']}" if home else meta["name"])
            held = None if record is None else writes.document(record)
            if record is not None and held is not None and is_rebound(document, held):
                writes.remove(record)
                record = held = None
            wanted = reconciled(document, held)
            if wanted is None:
                continue
            if record is None:
                writes.create(wanted)
            else:
                writes.update(wanted, record)
    await cluster.revisions.durable()
