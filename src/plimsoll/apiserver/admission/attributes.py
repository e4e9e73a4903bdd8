"""What an admission plugin is told about a request, and what it may read."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.admission.quota.scopes import Scope
from plimsoll.apiserver.admission.quota.tally import QuotaTally


class Operation(StrEnum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class StoredVersion(Protocol):
    """One version of a stored object; another version is another one."""

    @property
    def raw(self) -> bytes: ...

    @property
    def labels(self) -> dict[str, str]: ...

    def document(self) -> Document:
        """Without its kind and apiVersion; a copy."""
        ...


class Reader(Protocol):
    """The objects of the cluster as the request sees them. Documents returned must not be changed.

    `group` and `plural` name the resource: ("storage.k8s.io", "storageclasses").
    """

    def has(self, group: str, plural: str, namespace: str, name: str) -> bool: ...

    def get(self, group: str, plural: str, namespace: str, name: str) -> Document | None: ...

    def list(self, group: str, plural: str, namespace: str = "") -> Iterator[Document]:
        """All of a namespace, or of the cluster when it is empty, in the order of their keys."""
        ...

    def versions(
        self, group: str, plural: str, namespace: str = ""
    ) -> Iterator[tuple[str, StoredVersion]]:
        """The same without reading them, each with its key."""
        ...

    def tally(
        self, group: str, plural: str, namespace: str, scopes: tuple[Scope, ...]
    ) -> QuotaTally:
        """What the objects of a namespace use up, those in the scopes; must not be changed."""
        ...


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """One request. A mutating plugin changes `document` in place; `old` is never changed.

    On DELETE, `document` is the object to be deleted and `old` is None.
    A plugin refuses by raising `ApiError` (see `apiserver.model.status.forbidden`).
    """

    operation: Operation
    resource: Resource
    subresource: str
    namespace: str
    name: str
    document: Document
    old: Document | None
    user: str
    now: datetime
    dry_run: bool
    reader: Reader
    warnings: list[str]
    options: Document = msgspec.field(default_factory=dict)
    """What the client said of how to write, but for the dry run."""
    groups: tuple[str, ...] = ()
    """Of the user."""
    calls: Any = None
    """What webhooks have answered so far: `admission.webhooks.calls.WebhookCalls`."""
    policies: Any = None
    """How policies are evaluated: `admission.policies.limits.PolicyAdmission`."""
    requester: Any = None
    """The user with all that is known of them: `access.users.User`."""
    access: Any = None
    """What users may do: `access.authorizer.AccessControl`."""

    @property
    def told_namespace(self) -> str:
        """As webhooks and policies are told it: a namespace is in itself."""
        is_namespace = not self.resource.group and self.resource.plural == "namespaces"
        return self.name if is_namespace else self.namespace
