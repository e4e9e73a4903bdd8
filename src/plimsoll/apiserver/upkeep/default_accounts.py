"""The service account `default` of every namespace: pods that name none run with it.

kube-controller-manager and `plimsoll controller` make it as well; here it is there before the first
pod of a new namespace asks for it.
"""

from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.upkeep.keeper import Place
from plimsoll.apiserver.upkeep.own_writes import OwnWrites

NAME = "default"


class DefaultAccounts:
    collections = frozenset({"namespaces", "serviceaccounts"})

    def __init__(self, cluster: StoredCluster) -> None:
        self._accounts = OwnWrites(cluster, ("", "v1", "serviceaccounts"))
        self._namespaces = OwnWrites(cluster, ("", "v1", "namespaces"))

    def wants(self, collection: str, record: StoredRecord) -> bool:
        return collection == "namespaces" or record.key.endswith(f"/{NAME}")

    def keep(self, changed: frozenset[Place]) -> None:
        for namespace in sorted({key.partition("/")[0] for _, key in changed}):
            record = self._namespaces.find(namespace)
            if record is None or "deletionTimestamp" in record.document()["metadata"]:
                continue
            if self._accounts.find(f"{namespace}/{NAME}") is None:
                self._accounts.create({"metadata": {"name": NAME, "namespace": namespace}})
