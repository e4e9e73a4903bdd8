"""How a resource of the API maps to what is stored, and back.

Almost always one to one. Two groups serve events: one stored object, two views of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from plimsoll.api.registry import Document, Resource, builtin_by_path
from plimsoll.apiserver.model.custom.served_kind import CustomResource, ServedVersion
from plimsoll.apiserver.model.kinds.cluster.event import core_to_events, events_to_core
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.table import rules_for
from plimsoll.apiserver.model.ownership.endpoint import Endpoint, endpoint
from plimsoll.apiserver.model.schema import schema_name


def same(document: Document) -> Document:
    return document


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceKind:
    """A resource as it is served, with everything the handlers ask about it."""

    resource: Resource
    rules: KindRules
    schema: str
    collection: str
    """Name of the collection that holds the objects."""
    to_stored: Callable[[Document], Document] = same
    from_stored: Callable[[Document], Document] = same
    custom: ServedVersion | None = None
    """What a definition says of it; None: it is built in."""

    @property
    def is_view(self) -> bool:
        return self.from_stored is not same

    @property
    def reads_fields(self) -> bool:
        """Fields for selectors are not stored beside the object but read from it."""
        return self.is_view or bool(self.custom is not None and self.custom.selectable_paths)

    @property
    def stored(self) -> "ResourceKind":
        """The kind in whose form the objects are stored."""
        return stored_kind(self.collection) if self.is_view and self.custom is None else self

    def is_stale(self, revision: int) -> bool:
        """An object of that revision is to be read anew before it is shown."""
        return self.custom is not None and revision <= self.custom.changed_at

    def read_stored(self, document: Document) -> Document:
        """The stored document as the resource shows it."""
        if self.custom is not None:
            return self.custom.read_stored(document)
        return self.from_stored(document)

    def endpoint(self, subresource: str) -> Endpoint:
        """What tracking of owners has to know."""
        if self.custom is not None:
            return self.custom.endpoint(subresource)
        return endpoint(self.resource, subresource)


def kind_of(resource: Resource) -> ResourceKind:
    # Custom kinds are not remembered here: each change of a definition makes others, and what was
    # compiled of those before has to go with them.
    return _custom_kind(resource) if isinstance(resource, CustomResource) else _builtin(resource)


@cache
def _builtin(resource: Resource) -> ResourceKind:
    known = rules_for(resource.group, resource.kind)
    schema = schema_name(resource.group, resource.version, resource.kind)
    if (resource.group, resource.plural) == ("events.k8s.io", "events"):
        return ResourceKind(
            resource=resource,
            rules=known,
            schema=schema,
            collection="events",
            to_stored=events_to_core,
            from_stored=core_to_events,
        )
    return ResourceKind(
        resource=resource, rules=known, schema=schema, collection=resource.qualified_name
    )


def collection_of(resource: Resource) -> str:
    """The name of the collection, without a look at the schema of a custom resource."""
    if isinstance(resource, CustomResource):
        return resource.qualified_name
    return kind_of(resource).collection


def _custom_kind(resource: CustomResource) -> ResourceKind:
    served = resource.served
    return ResourceKind(
        resource=resource,
        rules=served.rules,
        schema="",
        collection=resource.qualified_name,
        from_stored=same if served.stored is None else served.read_stored,
        custom=served,
    )


@cache
def stored_kind(collection: str) -> ResourceKind:
    """The kind in whose form the objects of a collection are stored."""
    plural, _, group = collection.partition(".")
    matching = [r for (g, _, p), r in builtin_by_path().items() if (g, p) == (group, plural)]
    return kind_of(matching[0])


@cache
def builtin_collections() -> frozenset[str]:
    """Collections whose kinds are built in."""
    return frozenset(resource.qualified_name for resource in builtin_by_path().values())


@cache
def scale_kind() -> ResourceKind:
    """What the scale subresources of all workloads speak of."""
    return _unstored("autoscaling", "scales", "Scale")


@cache
def token_request_kind() -> ResourceKind:
    """What the token subresource of service accounts speaks of."""
    return _unstored("authentication.k8s.io", "tokenrequests", "TokenRequest")


def _unstored(group: str, plural: str, kind: str) -> ResourceKind:
    """The kind of a subresource, of which nothing is stored."""
    resource = Resource(
        group=group,
        version="v1",
        plural=plural,
        kind=kind,
        singular=kind.lower(),
        namespaced=True,
        short_names=(),
        categories=(),
        verbs=(),
        subresources=(),
    )
    return ResourceKind(
        resource=resource,
        rules=KindRules(),
        schema=schema_name(group, "v1", kind),
        collection="",
    )
