"""From documents to kinds: what a user of the simulation writes and reads."""

from functools import cache

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document, Resource, all_resources
from plimsoll.wire.kind import Kind, documents


@cache
def resource_of(kind: str) -> Resource:
    """The stable version of a kind; `VolumeSnapshot` and the like are found as well."""
    found = [r for r in all_resources() if r.kind == kind and r.verbs and "/" not in r.plural]
    found.sort(key=lambda r: (r.version != "v1", r.group))
    return found[0]


def kind_named(kind: str) -> Kind[Document]:
    return documents(resource_of(kind))


def kind_of(document: Document) -> Kind[Document]:
    wanted = document["apiVersion"]
    for resource in all_resources():
        if resource.kind == document["kind"] and resource.api_version == wanted:
            return documents(resource)
    raise KeyError(f"no resource for {document['kind']} in {wanted}")


def key_in(kind: str, name: str, namespace: str) -> ObjectKey:
    return ObjectKey(namespace if resource_of(kind).namespaced else "", name)
