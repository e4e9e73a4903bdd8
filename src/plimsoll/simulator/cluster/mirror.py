"""What the API server has made durable, kept by the simulation itself, for its checks.

The mirror outlives the server: what it has seen must be there when the next one starts.
"""

from collections.abc import Callable

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.server import ApiServer
from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord
from plimsoll.decide.records import RECORD
from plimsoll.simulator.cluster.api_host import ApiHost

PODS, CLAIMS, VOLUMES, NODES = "pods", "persistentvolumeclaims", "persistentvolumes", "nodes"
ATTACHMENTS = "volumeattachments.storage.k8s.io"
CAPACITIES = "csistoragecapacities.storage.k8s.io"
SNAPSHOTS = "volumesnapshots.snapshot.storage.k8s.io"
CONTENTS = "volumesnapshotcontents.snapshot.storage.k8s.io"
LEASES = "leases.coordination.k8s.io"
NODE_LEASES = "kube-node-lease/"
KINDS = (PODS, CLAIMS, VOLUMES, NODES, ATTACHMENTS, CAPACITIES, SNAPSHOTS, CONTENTS)

OnChange = Callable[[str, str, Document | None, Document | None], None]
"""Kind, key, what it was and what it is; None: it did not exist, or does not any more."""


class Mirror:
    def __init__(self, api: ApiHost) -> None:
        self.objects: dict[str, dict[str, Document]] = {kind: {} for kind in KINDS}
        self.holders: dict[str, str] = {}
        """Of leases other than those of nodes, by `namespace/name`."""
        self.on_record: list[Callable[[Document | None], None]] = []
        """Called with leases that are groups or intents; None: one is gone."""
        self.revisions: dict[tuple[str, str], int] = {}
        """The newest durable one of each object, by collection and key."""
        self.newest = 0
        self.on_change: list[OnChange] = []
        self.losses: list[str] = []
        """Objects that a server did not have when it started, or had in an older version."""
        api.on_loaded.append(self._loaded)

    def _loaded(self, server: ApiServer) -> None:
        revisions = server.cluster.revisions
        for (name, key), revision in self.revisions.items():
            record = revisions.collection(name).get(key)
            found = None if record is None else record.revision
            if found != revision:
                self.losses.append(f"{name} {key}: had revision {revision}, now {found}")
        revisions.on_durable(self._observe)

    def _observe(self, collection: Collection, changes: list[Change]) -> None:
        for change in changes:
            self._note(collection.name, change)

    def _note(self, name: str, change: Change) -> None:
        record, is_gone = change.record, change.kind is ChangeKind.DELETED
        self.newest = record.revision
        if is_gone:
            self.revisions.pop((name, record.key), None)
        else:
            self.revisions[name, record.key] = record.revision
        if name == LEASES:
            self._note_lease(record, is_gone=is_gone)
        elif (kept := self.objects.get(name)) is not None:
            before = kept.pop(record.key, None)
            after = None if is_gone else _decoded(record)
            if after is not None:
                kept[record.key] = after
            for listener in self.on_change:
                listener(name, record.key, before, after)

    def _note_lease(self, record: StoredRecord, *, is_gone: bool) -> None:
        if record.key.startswith(NODE_LEASES):
            return
        lease = _decoded(record)
        spec = lease.get("spec") or {}
        if RECORD in (lease["metadata"].get("labels") or {}):
            for listener in self.on_record:
                listener(None if is_gone else lease)
        self.holders[record.key] = "" if is_gone else spec.get("holderIdentity") or ""


def _decoded(record: StoredRecord) -> Document:
    document: Document = msgspec.json.decode(record.raw)
    document["metadata"]["resourceVersion"] = str(record.revision)
    return document
