"""Which writes would hold the event loop too long: they are decided beside it, on a draft.

What a write costs depends on the number of values in it more than on its bytes: 32 KiB can be one
long string, or ten thousand empty objects of which each is wrong in five ways.
"""

from plimsoll.apiserver.http.negotiation import PROTOBUF, body_type, is_slow_format
from plimsoll.apiserver.model.custom.served_kind import ServedVersion
from plimsoll.apiserver.model.policies.kinds import GROUP
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.definitions.definition_status import definitions_kind
from plimsoll.apiserver.storage.heavy_work import (
    HEAVY_BYTES,
    HEAVY_STEPS,
    HEAVY_VALUES,
    SLOW_FORMAT_BYTES,
)
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.wire.transport import Request

SHORT = bytes(range(5))
"""Lengths of what protobuf holds in a few bytes; a value that is longer takes LONGER at least."""
LONGER = 7


def is_heavy(request: Request, kind: ResourceKind, stored: StoredRecord | None) -> bool:
    """What the request brings and what is stored would take the event loop too long."""
    held = b"" if stored is None else stored.raw
    size = len(request.body) + len(held)
    if kind.custom is not None and _takes_long(kind.custom, size):
        return True
    if size > _heavy_bytes(kind, body_type(request)):
        return True
    # Most writes are too small for the question.
    if size <= HEAVY_VALUES:
        return False
    brought = _most_packed if body_type(request) == PROTOBUF else most_values
    return brought(request.body) + most_values(held) > HEAVY_VALUES


def most_values(text: bytes) -> int:
    """No fewer than there are values in JSON or YAML: each begins with one of these, or comes after
    one. An object counts twice, because it costs more than a string."""
    return sum(map(text.count, (b",", b"{", b"[", b"\n")))


def _most_packed(body: bytes) -> int:
    """The same for protobuf, about: the short ones are counted, the others have their length."""
    short = len(body) - len(body.translate(None, SHORT))
    return short + len(body) // LONGER


def _heavy_bytes(kind: ResourceKind, media_type: str) -> int:
    # Policies hold expressions, and definitions rules, which take long to compile.
    is_compiled = kind is definitions_kind() or kind.resource.group == GROUP
    if is_compiled or kind.custom is not None or is_slow_format(media_type):
        return SLOW_FORMAT_BYTES
    return HEAVY_BYTES


def _takes_long(kind: ServedVersion, size: int) -> bool:
    """The rules of a custom kind are compiled with its first write, and may look at much."""
    if not kind.is_compiled and kind.size > SLOW_FORMAT_BYTES:
        return True
    return kind.effort.steps(size) > HEAVY_STEPS
