"""The custom resources that a server serves, as its durable definitions say.

A definition that is established is served from the moment it is durable, and changes of it from
theirs. Nothing is compiled here: a kind that no client asks for costs its document and no more.
"""

from functools import cached_property

from plimsoll.api.registry import Document, Resource, builtin_collections, builtin_resources
from plimsoll.apiserver.model.custom.definition import conditions
from plimsoll.apiserver.model.custom.served_kind import (
    CustomResource,
    ServedVersion,
    custom_resource,
)
from plimsoll.apiserver.model.custom.version_order import version_order
from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
ResourcePath = tuple[str, str, str]


class KnownDefinition:
    """A definition and what is served of it."""

    def __init__(self, record: StoredRecord, previous: "KnownDefinition | None") -> None:
        self.revision = record.revision
        self.document: Document = record.document()
        same = previous is not None and previous.document["spec"] == self.document["spec"]
        self.changed_at: int = previous.changed_at if same and previous else record.revision
        """When what it says of objects has last changed."""

    @property
    def is_terminating(self) -> bool:
        return "deletionTimestamp" in self.document["metadata"]

    @cached_property
    def resources(self) -> tuple[CustomResource, ...]:
        """Of the served versions, the preferred one first."""
        if not conditions.is_true(self.document, conditions.ESTABLISHED):
            return ()
        versions = self.document["spec"]["versions"]
        served = {v["name"]: ServedVersion(self.document, v) for v in versions}
        stored = next(served[v["name"]] for v in versions if v.get("storage"))
        uniform = all(v.get("schema") == versions[0].get("schema") for v in versions)
        for each in served.values():
            each.changed_at = self.changed_at
            each.stored = None if uniform else stored
        names = sorted((v["name"] for v in versions if v.get("served")), key=version_order)
        return tuple(custom_resource(served[name]) for name in names)


class CustomKinds:
    def __init__(self) -> None:
        self._known: dict[str, KnownDefinition] = {}
        self._by_path: dict[ResourcePath, CustomResource] = {}
        self._resources: tuple[Resource, ...] = builtin_resources()
        self.version = 0
        """Grows whenever something else is served."""

    def follow(self, collection: Collection, changes: list[Change]) -> None:
        """Definitions have changed durably."""
        if collection.name == DEFINITIONS:
            for change in changes:
                self._apply(change)
            self._rebuild()

    def load(self, collection: Collection) -> None:
        """All definitions of a store that was opened."""
        for record in collection.records():
            self._known[record.key] = KnownDefinition(record, None)
        self._rebuild()

    def _apply(self, change: Change) -> None:
        key = change.record.key
        previous = self._known.pop(key, None)
        if change.kind is not ChangeKind.DELETED:
            self._known[key] = KnownDefinition(change.record, previous)

    def _rebuild(self) -> None:
        builtin = builtin_collections()
        custom = [
            resource
            for _, known in sorted(self._known.items())
            for resource in known.resources
            if (resource.group, resource.plural) not in builtin
        ]
        custom.sort(key=lambda resource: (resource.group, version_order(resource.version)))
        self._by_path = {(r.group, r.version, r.plural): r for r in custom}
        self._resources = (*builtin_resources(), *custom)
        self.version += 1

    @property
    def resources(self) -> tuple[Resource, ...]:
        """Everything that is served, built in or not."""
        return self._resources

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """A custom resource."""
        return self._by_path.get((group, version, plural))

    def serves(self, resource: CustomResource) -> bool:
        """What is asked of the resource is still done as it was when it was found."""
        found = self._by_path.get((resource.group, resource.version, resource.plural))
        if found is None:
            return False
        now, then = found.served, resource.served
        return (now.changed_at, now.is_terminating) == (then.changed_at, then.is_terminating)

    def known(self) -> list[tuple[str, KnownDefinition]]:
        """At one moment: large writes are decided in a thread, while others become durable."""
        return list(self._known.items())

    def get(self, name: str) -> KnownDefinition | None:
        return self._known.get(name)

    def terminating(self) -> list[str]:
        """Names of definitions whose objects are to go, and then they themselves."""
        return sorted(name for name, known in self._known.items() if known.is_terminating)
