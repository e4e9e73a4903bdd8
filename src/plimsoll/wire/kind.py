"""A resource together with the type that its objects are read as.

`typed(Pod)` reads structs; `documents(resource)` reads plain JSON documents. The
client and the cache are generic over it. An object that does not fit the type (a newer server, a
null where a list should be) never spoils the others of its list or watch: it is logged and left
out, as if it were not there.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from plimsoll.api.meta import ApiObject, ObjectKey, ObjectMeta
from plimsoll.api.registry import Document, Resource, resources_by_kind
from plimsoll.api.typed import TYPES, decode
from plimsoll.wire.transport import SharedLine

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject | Document)

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """One answer to a LIST; `continue_` is empty on the last page."""

    items: tuple[T, ...]
    resource_version: str
    continue_: str = ""


class Upserted(msgspec.Struct, Generic[T], frozen=True):
    """ADDED or MODIFIED: only the receiver knows which, by whether it had the object."""

    object: T


class DeletedObject(msgspec.Struct, Generic[T], frozen=True):
    """The object as it was last, with the resourceVersion of its deletion."""

    object: T


class Bookmark(msgspec.Struct, frozen=True):
    """Everything up to this version was sent. Marks also the end of the initial events."""

    resource_version: str
    ends_initial_events: bool = False


@dataclass(frozen=True, slots=True)
class RefusedDocument:
    """An ERROR event: the server ends the watch; the document is a Status."""

    status: Document


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An event whose object does not fit the type; what was known of it is out of date."""

    key: ObjectKey
    resource_version: str


WatchEvent = Upserted[T] | DeletedObject[T] | Bookmark | RefusedDocument | Unreadable


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _RawList(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None


class _RawEvent(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _OnlyMeta(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


_LISTS = msgspec.json.Decoder(_RawList)
_EVENTS = msgspec.json.Decoder(_RawEvent)
_METAS = msgspec.json.Decoder(_OnlyMeta)
_DOCUMENTS = msgspec.json.Decoder(dict[str, Any])


def metadata_of(object_: ApiObject | Document) -> ObjectMeta:
    if isinstance(object_, dict):
        return msgspec.convert(object_.get("metadata") or {}, ObjectMeta)
    return object_.metadata


def key_of(object_: ApiObject | Document) -> ObjectKey:
    if isinstance(object_, dict):
        return ObjectKey.of(object_)
    return object_.key


def version_of(object_: ApiObject | Document) -> str:
    if isinstance(object_, dict):
        metadata = object_.get("metadata") or {}
        return metadata.get("resourceVersion") or ""
    return object_.metadata.resource_version


def _quoted(name: str) -> str:
    """As a part of a path. Most names need no quoting, which takes its time."""
    return name if _PLAIN(name) else quote(name, safe="")


_PLAIN = re.compile(r"[A-Za-z0-9._~-]+").fullmatch


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    resource: Resource
    decode: Callable[[bytes | msgspec.Raw], T]
    """Raises msgspec.DecodeError when the object does not fit the type."""
    is_shared: bool = False
    """Whether objects are immutable: readers in one process may then have the same one."""

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Where the server keeps it; without a namespace all namespaces are meant."""
        parts = ["", self.resource.group_version_path]
        if namespace and self.resource.namespaced:
            parts += ["namespaces", _quoted(namespace)]
        parts.append(self.resource.plural)
        if name:
            parts.append(_quoted(name))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def described(self, key: ObjectKey) -> str:
        """`persistentvolumeclaim default/data`, for messages."""
        return f"{self.resource.singular or self.resource.kind.lower()} {key}"

    def decode_page(self, body: bytes) -> Page[T]:
        """Raises msgspec.DecodeError when this is no list at all."""
        raw = _LISTS.decode(body)
        return Page(
            items=tuple(self._readable(raw.items or ())),
            resource_version=raw.metadata.resource_version,
            continue_=raw.metadata.continue_,
        )

    def _readable(self, items: Sequence[msgspec.Raw]) -> Iterator[T]:
        for item in items:
            try:
                yield self.decode(item)
            except msgspec.DecodeError as error:
                self._report(item, error)

    def decode_event(self, line: bytes) -> WatchEvent[T]:
        """Raises msgspec.DecodeError when this is no event at all."""
        if type(line) is not SharedLine or not self.is_shared:
            return self._decode_event(line)
        event: WatchEvent[T] | None = line.decoded.get(self.decode)
        if event is None:
            event = line.decoded[self.decode] = self._decode_event(line)
        return event

    def _decode_event(self, line: bytes) -> WatchEvent[T]:
        raw = _EVENTS.decode(line)
        if raw.type == "ERROR":
            return RefusedDocument(_DOCUMENTS.decode(raw.object))
        if raw.type == "BOOKMARK":
            # Its object is empty but for the metadata and need not be valid.
            metadata = _METAS.decode(raw.object).metadata
            ends = metadata.annotations.get(INITIAL_EVENTS_END) == "true"
            return Bookmark(metadata.resource_version, ends_initial_events=ends)
        try:
            object_ = self.decode(raw.object)
        except msgspec.DecodeError as error:
            metadata = self._report(raw.object, error)
            key = ObjectKey(metadata.namespace, metadata.name)
            return Unreadable(key, metadata.resource_version)
        return DeletedObject(object_) if raw.type == "DELETED" else Upserted(object_)

    def _report(self, raw: msgspec.Raw, error: msgspec.DecodeError) -> ObjectMeta:
        metadata = _METAS.decode(raw).metadata
        key = ObjectKey(metadata.namespace, metadata.name)
        log.error("object unreadable", extra={"object": self.described(key), "error": str(error)})
        return metadata


def documents(resource: Resource) -> Kind[Document]:
    """The kind as plain documents."""
    return Kind(resource, _DOCUMENTS.decode)


S = TypeVar("S", bound=ApiObject)


def typed(type_: type[S]) -> Kind[S]:
    """The kind that is read as this struct."""
    kind: Kind[S] = _typed(type_)
    return kind


@cache
def _typed(type_: type[ApiObject]) -> Kind[Any]:
    """One for all who read it: what one of them has decoded is there for the others."""
    resource = resources_by_kind()[_names_by_type()[type_]]
    return Kind(resource, partial(decode, type_), is_shared=True)


@cache
def _names_by_type() -> dict[type[ApiObject], tuple[str, str, str]]:
    return {type_: name for name, type_ in TYPES.items()}
