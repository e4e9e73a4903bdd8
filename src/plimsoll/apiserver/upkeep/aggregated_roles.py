"""Keeps the rules of ClusterRoles that gather them from others: `admin`, `edit` and `view`."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.apiserver.access.rbac.aggregation import aggregated_rules, is_aggregated
from plimsoll.apiserver.access.rbac.bootstrap import qualified
from plimsoll.apiserver.access.rbac.index import CLUSTER_ROLES
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.upkeep.keeper import Place
from plimsoll.apiserver.upkeep.own_writes import OwnWrites

MOST_ROUNDS = 10
"""Roles gather from roles that gather; a circle of them ends, too."""


class AggregatedRoles:
    collections = frozenset({CLUSTER_ROLES})

    def __init__(self, cluster: StoredCluster) -> None:
        self._writes = OwnWrites(cluster, qualified("clusterroles"))
        self._records = cluster.revisions.collection(CLUSTER_ROLES)

    def wants(self, _collection: str, _record: StoredRecord) -> bool:
        return True

    def keep(self, _changed: frozenset[Place]) -> None:
        """Whatever changed: any role may gather from it."""
        for _ in range(MOST_ROUNDS):
            if not self._round():
                return

    def _round(self) -> bool:
        """Whether anything was written."""
        written = False
        for record in list(self._records.newest_records()):
            if b'"aggregationRule"' not in record.raw:
                continue
            role = self._writes.document(record)
            if is_aggregated(role):
                written |= self._gather(role, record)
        return written

    def _gather(self, role: Document, record: StoredRecord) -> bool:
        rules = aggregated_rules(role, self._matching)
        if rules == (role.get("rules") or []):
            return False
        self._writes.update(role | {"rules": rules}, record)
        return True

    def _matching(self, selector: LabelSelector) -> Iterator[Document]:
        for record in self._records.newest_records():
            if selector.matches(record.labels):
                yield record.document()
