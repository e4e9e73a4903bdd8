"""Large work in slices, so that other threads get their turn in between.

The interpreter does nothing else while it is inside one call of the JSON decoder, of the encoder or
of `sorted`. A
stored object can have twice as many values as a request: its own, and a name for each in the set of
owned fields. What is done here is divided into calls that are not longer than one request needs.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import msgspec

SLICED_BYTES = 256 * 1024
SLICED_TEXTS = 10_000

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode_object(raw: bytes) -> dict[str, Any]:
    """What `msgspec.json.decode` returns for an object of the API."""
    if len(raw) < SLICED_BYTES:
        small: dict[str, Any] = msgspec.json.decode(raw)
        return small
    return {
        name: _decode_members(value) if name == "metadata" else msgspec.json.decode(value)
        for name, value in _MEMBERS.decode(raw).items()
    }


def _decode_members(raw: msgspec.Raw) -> dict[str, Any]:
    return {name: msgspec.json.decode(value) for name, value in _MEMBERS.decode(raw).items()}


MEMBERS_DEEP = 3
"""So deep in an OpenAPI document are the single schemas."""


def encode_members(value: Any, depth: int = MEMBERS_DEEP) -> bytes:
    """What `msgspec.json.encode` returns, member by member down to that depth."""
    if depth == 0 or not isinstance(value, dict):
        return msgspec.json.encode(value)
    members = (
        msgspec.json.encode(name) + b":" + encode_members(member, depth - 1)
        for name, member in value.items()
    )
    return b"{" + b",".join(members) + b"}"


def in_order(texts: Collection[str], key: Callable[[str], Any] | None = None) -> Iterable[str]:
    """The order that `sorted` returns."""
    if len(texts) <= SLICED_TEXTS:
        return sorted(texts, key=key)
    return heapq.merge(*(sorted(part, key=key) for part in _parts(list(texts))), key=key)


def _parts(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), SLICED_TEXTS):
        yield texts[start : start + SLICED_TEXTS]
