"""What a deleted definition leaves behind: its objects are deleted, and then it goes itself.

Objects with finalizers keep it until they are gone. Running twice is harmless, and a server that
starts goes on where the last one was.
"""

import asyncio

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import builtin_collections
from plimsoll.apiserver.access.users import SERVER
from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.model.custom.definition import conditions
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.storage.cluster import StoredCluster, timestamp
from plimsoll.apiserver.storage.collection import Change, Collection, StoredRecord
from plimsoll.apiserver.storage.definitions import definition_status
from plimsoll.apiserver.storage.definitions.custom_kinds import DEFINITIONS, KnownDefinition
from plimsoll.apiserver.storage.resource_kinds import kind_of
from plimsoll.apiserver.storage.store import StoreFailedError
from plimsoll.apiserver.verbs.delete import delete_record
from plimsoll.apiserver.verbs.options.delete_options import DeleteOptions
from plimsoll.apiserver.verbs.options.write_options import RequestWriteOptions
from plimsoll.apiserver.verbs.views.streaming import in_groups
from plimsoll.apiserver.verbs.write import Write, newest

IN_PROGRESS = conditions.condition(
    conditions.TERMINATING,
    "True",
    "InstanceDeletionInProgress",
    "CustomResource deletion is in progress",
)


class DefinitionCleanup:
    def __init__(self, cluster: StoredCluster) -> None:
        self._cluster = cluster
        self._wake = asyncio.Event()
        self._watched: set[str] = {DEFINITIONS}
        cluster.revisions.on_durable(self._changed)

    def _changed(self, collection: Collection, _changes: list[Change]) -> None:
        if collection.name in self._watched and self._cluster.custom.terminating():
            self._wake.set()

    async def run(self) -> None:
        """For ever."""
        self._wake.set()
        while True:
            await self._wake.wait()
            self._wake.clear()
            for name in self._cluster.custom.terminating():
                try:
                    await self._clean(name)
                except StoreFailedError:
                    # Nothing has changed; the next write that succeeds wakes this up again.
                    continue

    async def _clean(self, name: str) -> None:
        known = self._cluster.custom.get(name)
        if known is None or conditions.CLEANUP not in known.document["metadata"]["finalizers"]:
            return
        spec = known.document["spec"]
        if (spec["group"], spec["names"]["plural"]) in builtin_collections():
            # Of an earlier release, which took it. Its objects are not its own.
            self._finish(name)
            await self._cluster.revisions.durable()
            return
        self._tell(name, known)
        await self._delete_objects(name, known)
        if self._cluster.versions.collection(name).is_empty:
            self._watched.discard(name)
            self._finish(name)
            await self._cluster.revisions.durable()
        else:
            self._watched.add(name)

    def _tell(self, name: str, known: KnownDefinition) -> None:
        old = known.document
        new = clone(old)
        conditions.set_condition(new, IN_PROGRESS, timestamp(self._cluster.clock.now()))
        if new != old:
            definition_status.put_status(self._cluster, name, _typed(new), _typed(old))

    async def _delete_objects(self, name: str, known: KnownDefinition) -> None:
        if not known.resources:
            return
        kind = kind_of(known.resources[0])
        records = list(self._cluster.versions.collection(name).newest_records())
        for group in in_groups(records, lambda record: record):
            for record in group:
                self._delete(
                    Write(
                        cluster=self._cluster,
                        kind=kind,
                        target=_target(known, record),
                        options=RequestWriteOptions(),
                        user=SERVER,
                    )
                )
            await self._cluster.revisions.durable()

    def _delete(self, write: Write) -> None:
        try:
            delete_record(write, DeleteOptions(), newest(write))
        except ApiError:
            # It is gone already, or goes with a later round.
            return

    def _finish(self, name: str) -> None:
        """Take the finalizer; without any other, the definition goes."""
        kind = definition_status.definitions_kind()
        record = self._cluster.collection(kind).newest(name)
        if record is None:
            return
        new = record.document()
        left = [each for each in new["metadata"]["finalizers"] if each != conditions.CLEANUP]
        if left:
            new["metadata"]["finalizers"] = left
            self._cluster.put(kind, name, new)
        else:
            self._cluster.remove(kind, record)
        definition_status.refresh(self._cluster)


def _target(known: KnownDefinition, record: StoredRecord) -> Target:
    namespace, _, name = record.key.rpartition("/")
    return Target(resource=known.resources[0], namespace=namespace, name=name)


def _typed(document: dict[str, object]) -> dict[str, object]:
    resource = definition_status.definitions_kind().resource
    return {"kind": resource.kind, "apiVersion": resource.api_version} | document
