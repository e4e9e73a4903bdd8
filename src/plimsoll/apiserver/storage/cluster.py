"""What all handlers share: the objects, the watches, and the sources of time and identity."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Protocol, Self

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.access.authorizer import AccessControl
from plimsoll.apiserver.admission.chain import Admission
from plimsoll.apiserver.admission.policies.limits import PolicyAdmission
from plimsoll.apiserver.admission.quota.scopes import Scope
from plimsoll.apiserver.admission.quota.tally import QuotaTally
from plimsoll.apiserver.admission.webhooks.calls import WebhookCalls, WebhookClient
from plimsoll.apiserver.http.identity import Authenticator
from plimsoll.apiserver.model.kinds.networking.service_network import ServiceNetwork
from plimsoll.apiserver.storage.collection import (
    Change,
    ChangeKind,
    Collection,
    StoredRecord,
    encode_raw,
)
from plimsoll.apiserver.storage.definitions.custom_kinds import CustomKinds
from plimsoll.apiserver.storage.drafts import Draft
from plimsoll.apiserver.storage.heavy_work import HeavyWork
from plimsoll.apiserver.storage.resource_kinds import (
    ResourceKind,
    builtin_collections,
    stored_kind,
)
from plimsoll.apiserver.storage.revisions import Revisions
from plimsoll.apiserver.storage.watch_hub import WatchHub
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.ids import Ids


def timestamp(moment: datetime) -> str:
    """RFC 3339 in whole seconds, as the API writes times."""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}Z"


class Versions(Protocol):
    """Where writes are decided: on the newest state itself, or on a draft of the next one."""

    def collection(self, name: str) -> Collection: ...

    @property
    def next_revision(self) -> int: ...

    def stage(self, collection: Collection, change: Change) -> None: ...


class NewestReader:
    """The admission plugins' view: what the write being decided would be built on."""

    def __init__(self, revisions: Versions) -> None:
        self._revisions = revisions

    def has(self, group: str, plural: str, namespace: str, name: str) -> bool:
        return self._find(group, plural, namespace, name) is not None

    def get(self, group: str, plural: str, namespace: str, name: str) -> Document | None:
        record = self._find(group, plural, namespace, name)
        return None if record is None else record.document()

    def _find(self, group: str, plural: str, namespace: str, name: str) -> StoredRecord | None:
        key = f"{namespace}/{name}" if namespace else name
        return self._collection(group, plural).newest(key)

    def list(self, group: str, plural: str, namespace: str = "") -> Iterator[Document]:
        prefix = f"{namespace}/" if namespace else ""
        for record in self._collection(group, plural).newest_records(prefix):
            yield record.document()

    def versions(
        self, group: str, plural: str, namespace: str = ""
    ) -> Iterator[tuple[str, StoredRecord]]:
        prefix = f"{namespace}/" if namespace else ""
        for record in self._collection(group, plural).newest_records(prefix):
            yield record.key, record

    def tally(
        self, group: str, plural: str, namespace: str, scopes: tuple[Scope, ...]
    ) -> QuotaTally:
        return self._collection(group, plural).tally(namespace, scopes)

    def _collection(self, group: str, plural: str) -> Collection:
        return self._revisions.collection(f"{plural}.{group}" if group else plural)


BOOKMARK_EVERY = timedelta(minutes=1)
ResourcePath = tuple[str, str, str]
"""Group, version and plural name of a resource."""


class StoredCluster(Struct, frozen=True, kw_only=True):
    revisions: Revisions
    hub: WatchHub
    clock: Clock
    ids: Ids
    work: HeavyWork
    authenticator: Authenticator
    access: AccessControl
    admission: Admission = field(default_factory=Admission)
    custom: CustomKinds = field(default_factory=CustomKinds)
    """What is served because of definitions."""
    sent_events: Counter[ResourcePath] = field(default_factory=Counter)
    """Events that were sent to watches."""
    draft: Draft | None = None
    """Where the changes of a large write wait until it is decided."""
    service_network: ServiceNetwork = field(default_factory=ServiceNetwork)
    """What services get their addresses from."""
    calls: WebhookCalls = field(default_factory=WebhookCalls)
    """What webhooks have answered to the write that is decided on a draft."""
    policies: PolicyAdmission = field(default_factory=PolicyAdmission)
    """The policies that were compiled, and how long they may take."""
    webhooks: WebhookClient | None = None
    """None: there is no network, and webhooks are never reached."""
    bookmark_every: timedelta = BOOKMARK_EVERY
    """Of watches in which nothing happens."""

    @property
    def versions(self) -> Versions:
        return self.draft or self.revisions

    def with_draft(self, draft: Draft) -> Self:
        """The same cluster, for one write that is decided beside the event loop."""
        return replace(self, draft=draft)

    def count_sent(self, resource: Resource, number: int) -> None:
        """A watch of the resource was sent that many events."""
        self.sent_events[resource.group, resource.version, resource.plural] += number

    @property
    def reader(self) -> NewestReader:
        return NewestReader(self.versions)

    def collection(self, kind: ResourceKind) -> Collection:
        return self.versions.collection(kind.collection)

    def record(
        self, kind: ResourceKind, key: str, document: Document, revision: int
    ) -> StoredRecord:
        """The stored form of a document, which is in the form of its stored kind."""
        labels = document["metadata"].get("labels", {})
        reads_fields = kind.custom is not None
        fields = {} if reads_fields else kind.stored.rules.selectable_fields(document)
        return StoredRecord(key, revision, encode_raw(document), labels, fields)

    def put(self, kind: ResourceKind, key: str, document: Document) -> StoredRecord:
        """Stage a new version; it counts once `revisions.durable()` has returned."""
        return self.stage(kind, self.record(kind, key, document, self.versions.next_revision))

    def stage(self, kind: ResourceKind, record: StoredRecord) -> StoredRecord:
        """The same for a record of the next revision that was made before."""
        collection = self.collection(kind)
        previous = collection.newest(record.key)
        change = ChangeKind.ADDED if previous is None else ChangeKind.MODIFIED
        self.versions.stage(collection, Change(change, record, previous))
        return record

    def remove(self, kind: ResourceKind, previous: StoredRecord) -> StoredRecord:
        """Stage the end of an object; the last state at the revision of its end."""
        collection = self.collection(kind)
        last = replace(previous, revision=self.versions.next_revision)
        self.versions.stage(collection, Change(ChangeKind.DELETED, last, previous))
        return last


def describe(collection: str, raw: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and selectable fields of a stored document."""
    document = msgspec.json.decode(raw)
    is_builtin = collection in builtin_collections()
    fields = stored_kind(collection).rules.selectable_fields(document) if is_builtin else {}
    return document["metadata"].get("labels", {}), fields
