"""A cluster of a few documents, and requests to it, as admission plugins see them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document, Resource, all_resources
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.quota.scopes import Scope
from plimsoll.apiserver.admission.quota.tally import QuotaTally, counted

NOW = datetime(2026, 11, 15, 21, 15, 17, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Version:
    """A document as it is stored."""

    content: Document

    @property
    def raw(self) -> bytes:
        return msgspec.json.encode(self.content)

    @property
    def labels(self) -> dict[str, str]:
        found: dict[str, str] = self.content["metadata"].get("labels") or {}
        return found

    def document(self) -> Document:
        made: Document = clone(self.content)
        return made


class Objects:
    """Documents by kind, as `Reader` wants them."""

    def __init__(self, *documents: Document) -> None:
        self._documents = documents

    def has(self, group: str, plural: str, namespace: str, name: str) -> bool:
        return self.get(group, plural, namespace, name) is not None

    def get(self, group: str, plural: str, namespace: str, name: str) -> Document | None:
        found = (d for d in self.list(group, plural, namespace) if d["metadata"]["name"] == name)
        return next(found, None)

    def list(self, group: str, plural: str, namespace: str = "") -> Iterator[Document]:
        kinds = {r.kind for r in all_resources() if (r.group, r.plural) == (group, plural)}
        for document in self._documents:
            at = document["metadata"].get("namespace", "")
            if document["kind"] in kinds and (not namespace or at == namespace):
                yield document

    def versions(
        self, group: str, plural: str, namespace: str = ""
    ) -> Iterator[tuple[str, Version]]:
        for document in self.list(group, plural, namespace):
            meta = document["metadata"]
            at = meta.get("namespace", "")
            yield f"{at}/{meta['name']}" if at else meta["name"], Version(document)

    def tally(
        self, group: str, plural: str, namespace: str, scopes: tuple[Scope, ...]
    ) -> QuotaTally:
        return counted(group, plural, scopes, self.list(group, plural, namespace))


def resource_of(kind: str) -> Resource:
    return next(resource for resource in all_resources() if resource.kind == kind)


def a_request(
    document: Document,
    *objects: Document,
    old: Document | None = None,
    operation: Operation | None = None,
    subresource: str = "",
) -> Attributes:
    """A create, or an update where there is an old document."""
    return Attributes(
        operation=operation or (Operation.UPDATE if old else Operation.CREATE),
        resource=resource_of(document["kind"]),
        subresource=subresource,
        namespace=document["metadata"].get("namespace", ""),
        name=document["metadata"]["name"],
        document=document,
        old=old,
        user="admin",
        now=NOW,
        dry_run=False,
        reader=Objects(*objects),
        warnings=[],
    )


def an_object(kind: str, name: str = "x", **fields: object) -> Document:
    metadata = {"name": name}
    if resource_of(kind).namespaced:
        metadata["namespace"] = "default"
    return {"kind": kind, "metadata": metadata} | fields


def a_claim(name: str = "data", size: str = "1Gi", storage_class: str = "fast") -> Document:
    spec = {"resources": {"requests": {"storage": size}}, "storageClassName": storage_class}
    return an_object("PersistentVolumeClaim", name, spec=spec, status={"phase": "Bound"})


def a_pod(name: str = "p", resources: Document | None = None, **spec: object) -> Document:
    """With one container, `c`, that asks for these resources."""
    containers = [{"name": "c", "resources": resources or {}}]
    return an_object("Pod", name, spec={"containers": containers} | spec)
