"""The config map `kube-root-ca.crt` of every namespace: whose certificate the server shows.

What other writers put into an existing one is left alone until the next start of the server.
"""

from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.upkeep.keeper import Place
from plimsoll.apiserver.upkeep.own_writes import OwnWrites

NAME = "kube-root-ca.crt"
ANNOTATION = "kubernetes.io/description"
DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


class RootCertificates:
    collections = frozenset({"namespaces", "configmaps"})

    def __init__(self, cluster: StoredCluster, authority: bytes) -> None:
        self._authority = authority.decode()
        self._maps = OwnWrites(cluster, ("", "v1", "configmaps"))
        self._namespaces = OwnWrites(cluster, ("", "v1", "namespaces"))

    def wants(self, collection: str, record: StoredRecord) -> bool:
        return collection == "namespaces" or record.key.endswith(f"/{NAME}")

    def keep(self, changed: frozenset[Place]) -> None:
        for namespace in sorted({key.partition("/")[0] for _, key in changed}):
            self._publish(namespace, anew=False)

    def refresh(self, namespaces: list[str]) -> None:
        """At a start: the authority may be another than before."""
        for namespace in namespaces:
            self._publish(namespace, anew=True)

    def _publish(self, namespace: str, *, anew: bool) -> None:
        record = self._namespaces.find(namespace)
        if record is None or "deletionTimestamp" in record.document()["metadata"]:
            return
        held = self._maps.find(f"{namespace}/{NAME}")
        if held is None:
            self._maps.create(
                {
                    "metadata": {
                        "name": NAME,
                        "namespace": namespace,
                        "annotations": {ANNOTATION: DESCRIPTION},
                    },
                    "data": {"ca.crt": self._authority},
                }
            )
            return
        document = self._maps.document(held)
        if anew and (document.get("data") or {}).get("ca.crt") != self._authority:
            self._maps.update(document | {"data": {"ca.crt": self._authority}}, held)
