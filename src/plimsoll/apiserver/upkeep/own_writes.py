"""Writes of the server itself: they pass admission and validation like those of any client."""

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.access.users import SERVER
from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.storage.cluster import ResourcePath, StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.resource_kinds import ResourceKind, kind_of
from plimsoll.apiserver.verbs.create import create
from plimsoll.apiserver.verbs.options.write_options import RequestWriteOptions
from plimsoll.apiserver.verbs.update import update
from plimsoll.apiserver.verbs.write import Write, shown, typed

MANAGER = "kube-apiserver"


class OwnWrites:
    """All of one resource."""

    def __init__(self, cluster: StoredCluster, path: ResourcePath) -> None:
        self.cluster = cluster
        self._resource = resources_by_path()[path]

    @property
    def kind(self) -> ResourceKind:
        return kind_of(self._resource)

    def find(self, key: str) -> StoredRecord | None:
        return self.cluster.collection(self.kind).newest(key)

    def document(self, record: StoredRecord) -> Document:
        return shown(self.kind, record)

    def create(self, body: Document) -> None:
        """Stage a new object. Raises ApiError."""
        meta = body["metadata"]
        create(self._write(meta.get("namespace", "")), typed(self.kind, body))

    def update(self, body: Document, record: StoredRecord) -> None:
        """Stage the next version of an object. Raises ApiError."""
        meta = body["metadata"]
        write = self._write(meta.get("namespace", ""), meta["name"])
        update(write, typed(self.kind, body), record)

    def remove(self, record: StoredRecord) -> None:
        self.cluster.remove(self.kind, record)

    def _write(self, namespace: str, name: str = "") -> Write:
        return Write(
            cluster=self.cluster,
            kind=self.kind,
            target=Target(resource=self._resource, namespace=namespace, name=name),
            options=RequestWriteOptions(manager=MANAGER),
            user=SERVER,
        )
