"""The config map by which other servers of the cluster know whose client certificates count.

kube-scheduler, kube-controller-manager and servers of further APIs look there at their start. The
server does not speak for other users to them, so nothing is said about headers of requests.
"""

from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.upkeep.keeper import Place
from plimsoll.apiserver.upkeep.own_writes import OwnWrites

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
KEY = f"{NAMESPACE}/{NAME}"
CLIENT_AUTHORITY = "client-ca-file"


class ClientAuthority:
    collections = frozenset({"configmaps"})

    def __init__(self, cluster: StoredCluster, authority: bytes) -> None:
        self._maps = OwnWrites(cluster, ("", "v1", "configmaps"))
        self._wanted = {CLIENT_AUTHORITY: authority.decode()}

    def wants(self, _collection: str, record: StoredRecord) -> bool:
        return record.key == KEY

    def keep(self, _changed: frozenset[Place]) -> None:
        held = self._maps.find(KEY)
        if held is None:
            meta = {"name": NAME, "namespace": NAMESPACE}
            self._maps.create({"metadata": meta, "data": self._wanted})
            return
        document = self._maps.document(held)
        data = document.get("data") or {}
        if data | self._wanted != data:
            self._maps.update(document | {"data": data | self._wanted}, held)
