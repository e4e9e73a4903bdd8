"""Bodies of type `application/vnd.kubernetes.protobuf`, read into JSON documents and written.

A body is four fixed bytes and an envelope that names the kind and holds the object. What comes out
has the JSON form and goes through `schema.round_trip` like any other document. The events of a
watch are messages with such a body inside, each behind its length.
"""

from collections.abc import Iterable
from functools import cache

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.messages.plans import message, message_of
from plimsoll.apiserver.model.messages.values import bytes_of, fields_of
from plimsoll.apiserver.model.messages.wire import Wire, varint, written_field
from plimsoll.apiserver.model.schema import schema_name

PREFIX = b"k8s\0"

_RAW_FIELD = 2
_FRAME_LENGTH_BYTES = 4
_TYPE_META = "k8s.io.apimachinery.pkg.runtime.TypeMeta"
_META = "k8s.io.apimachinery.pkg.apis.meta.v1"


def decode(body: bytes, *, api_version: str = "", kind: str = "") -> Document:
    """The document in a body. The kind and version given here are meant when the body names none.

    Raises ValueError when the body is malformed or of a kind that the tables do not know.
    """
    if not body.startswith(PREFIX):
        raise ValueError("protobuf: the body does not begin with the prefix of the encoding")
    type_meta, raw = _open_envelope(memoryview(body)[len(PREFIX) :])
    named_version = type_meta.get("apiVersion") or api_version
    named_kind = type_meta.get("kind") or kind
    content = decode_message(message_name(named_version, named_kind), raw)
    return {"kind": named_kind, "apiVersion": named_version, **content}


def decode_message(name: str, raw: bytes | memoryview) -> Document:
    """One message by its full name. Raises ValueError when it is malformed or unknown."""
    if name not in definitions().protobuf:
        raise ValueError(f"protobuf: no message {name}")
    try:
        return message(name).read(memoryview(raw))
    except RecursionError:
        raise ValueError("protobuf: message nested too deeply") from None


def _open_envelope(envelope: memoryview) -> tuple[Document, memoryview]:
    found = fields_of(envelope, type_meta=1, raw=_RAW_FIELD)
    empty = memoryview(b"")
    type_meta = decode_message(_TYPE_META, bytes_of(found.get("type_meta", empty)))
    return type_meta, bytes_of(found.get("raw", empty))


def encode(document: Document) -> bytes:
    """The body that holds the document. Raises ValueError when its kind is not known."""
    api_version, kind = document.get("apiVersion", ""), document.get("kind", "")
    return enveloped(api_version, kind, encode_message(api_version, kind, document))


def encode_message(api_version: str, kind: str, document: Document) -> bytes:
    """The object without its envelope. Raises ValueError when its kind is not known."""
    return message(message_name(api_version, kind)).write(document)


def enveloped(api_version: str, kind: str, raw: bytes) -> bytes:
    return envelope_start(api_version, kind, len(raw)) + raw + ENVELOPE_END


def envelope_start(api_version: str, kind: str, size: int) -> bytes:
    """What comes before a message of this size; ENVELOPE_END comes behind it."""
    tag = written_field(_RAW_FIELD, Wire.BYTES, b"")[:-1]
    return _type_start(api_version, kind) + tag + varint(size)


@cache
def _type_start(api_version: str, kind: str) -> bytes:
    type_meta = message(_TYPE_META).write({"apiVersion": api_version, "kind": kind})
    return PREFIX + written_field(1, Wire.BYTES, type_meta)


# The server's own envelopes carry these two, empty: content encoding and content type.
ENVELOPE_END = written_field(3, Wire.BYTES, b"") + written_field(4, Wire.BYTES, b"")


def list_members(api_version: str, list_kind: str, members: Iterable[bytes]) -> bytes:
    """Finished messages as members of a list; what its metadata are comes before or behind them."""
    number = _items_number(message_name(api_version, list_kind))
    return b"".join([written_field(number, Wire.BYTES, member) for member in members])


@cache
def _items_number(list_message: str) -> int:
    entries = definitions().protobuf[list_message]
    return next(int(entry["number"]) for entry in entries if entry["name"] == "items")


def watch_frame(change: str, enveloped_object: bytes) -> bytes:
    """One event of a watch, behind its length."""
    raw = written_field(1, Wire.BYTES, enveloped_object)
    event = written_field(1, Wire.BYTES, change.encode()) + written_field(2, Wire.BYTES, raw)
    return len(event).to_bytes(_FRAME_LENGTH_BYTES, "big") + event


def raw_event(event: bytes) -> tuple[str, bytes]:
    """The kind of change in an event of a watch, and the body with the object."""
    found = fields_of(memoryview(event), type=1, object=2)
    raw = fields_of(bytes_of(found["object"]), raw=1)["raw"]
    return str(bytes_of(found["type"]), "utf-8"), bytes(bytes_of(raw))


@cache
def is_known(api_version: str, kind: str) -> bool:
    """Whether objects of the kind can be written; custom kinds have JSON alone."""
    try:
        message_name(api_version, kind)
    except ValueError:
        return False
    return True


@cache
def message_name(api_version: str, kind: str) -> str:
    """The message of a kind. Raises ValueError when there is none."""
    group, _, version = api_version.rpartition("/")
    try:
        name = message_of(schema_name(group, version, kind))
    except KeyError:
        # Of the older version, only what differs has a message of its own.
        older = f"{_META}beta1.{kind}" if version == "v1beta1" else ""
        in_meta = older if older in definitions().protobuf else f"{_META}.{kind}"
        name = in_meta if group in ("", "meta.k8s.io") else ""
    if name not in definitions().protobuf:
        raise ValueError(f'protobuf: no kind "{kind}" in version "{api_version}"')
    return name
