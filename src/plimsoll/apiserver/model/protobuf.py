"""Bodies of type `application/vnd.kubernetes.protobuf`, read into JSON documents and written.

A body is four fixed bytes and an envelope that names the kind and holds the object. What comes out
has the JSON form and goes through `schema.round_trip` like any other document.
"""

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.messages.plans import message, message_of
from plimsoll.apiserver.model.messages.values import bytes_of, fields_of
from plimsoll.apiserver.model.messages.wire import Wire, written_field
from plimsoll.apiserver.model.schema import schema_name

PREFIX = b"k8s\0"

_RAW_FIELD = 2
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
    raw = message(message_name(api_version, kind)).write(document)
    type_meta = message(_TYPE_META).write({"apiVersion": api_version, "kind": kind})
    return (
        PREFIX
        + written_field(1, Wire.BYTES, type_meta)
        + written_field(_RAW_FIELD, Wire.BYTES, raw)
        # The server's own envelopes carry these two, empty.
        + written_field(3, Wire.BYTES, b"")
        + written_field(4, Wire.BYTES, b"")
    )


def message_name(api_version: str, kind: str) -> str:
    """The message of a kind. Raises ValueError when there is none."""
    group, _, version = api_version.rpartition("/")
    try:
        name = message_of(schema_name(group, version, kind))
    except KeyError:
        name = f"{_META}.{kind}" if group == "meta.k8s.io" else ""
    if name not in definitions().protobuf:
        raise ValueError(f'protobuf: no kind "{kind}" in version "{api_version}"')
    return name
