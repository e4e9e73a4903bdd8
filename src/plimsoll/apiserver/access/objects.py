"""The interface by which authenticators and authorizers read the objects of the cluster."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from plimsoll.api.registry import Document


class ObjectRecord(Protocol):
    """One version of an object; the next version is another record."""

    @property
    def fields(self) -> Mapping[str, str]:
        """What field selectors can ask for."""
        ...

    def document(self) -> Document: ...


class ObjectSource(Protocol):
    """Durable objects by the name of their collection: `pods`, `roles.rbac.authorization.k8s.io`.

    Keys are names, with their namespace before them: `default/web`.
    """

    def find(self, collection: str, key: str) -> ObjectRecord | None: ...

    def within(self, collection: str, namespace: str) -> Iterator[ObjectRecord]:
        """All of a namespace, or of all namespaces when it is empty."""
        ...


class NoObjects:
    """A cluster in which nothing exists."""

    def find(self, _collection: str, _key: str) -> ObjectRecord | None:
        return None

    def within(self, _collection: str, _namespace: str) -> Iterator[ObjectRecord]:
        return iter(())
