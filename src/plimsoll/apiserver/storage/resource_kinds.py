"""How a resource of the API maps to what is stored, and back.

Almost always one to one. Two groups serve events: one stored object, two views of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from plimsoll.api.registry import Document, Resource, resources_by_path
from plimsoll.apiserver.model.kinds.cluster.event import core_to_events, events_to_core
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.table import rules_for
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

    @property
    def is_view(self) -> bool:
        return self.from_stored is not same


@cache
def kind_of(resource: Resource) -> ResourceKind:
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


@cache
def stored_kind(collection: str) -> ResourceKind:
    """The kind in whose form the objects of a collection are stored."""
    plural, _, group = collection.partition(".")
    matching = [r for (g, _, p), r in resources_by_path().items() if (g, p) == (group, plural)]
    return kind_of(matching[0])


@cache
def scale_kind() -> ResourceKind:
    """What the scale subresources of all workloads speak of; nothing of it is stored."""
    resource = Resource(
        group="autoscaling",
        version="v1",
        plural="scales",
        kind="Scale",
        singular="scale",
        namespaced=True,
        short_names=(),
        categories=(),
        verbs=(),
        subresources=(),
    )
    return ResourceKind(
        resource=resource,
        rules=KindRules(),
        schema=schema_name("autoscaling", "v1", "Scale"),
        collection="",
    )
