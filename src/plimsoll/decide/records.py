"""Records that a process stores for the next one after a crash: Leases with the content in an
annotation.

Leases, since the role of csi-provisioner's manifests lets it write them, and config maps not. One
process writes a record, always on the version that it knows; others read it by its label. What
another program has written there is read without harm.
"""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from plimsoll.api.registry import Document

RECORD = "plimsoll.dev/record"
"""The label that says what kind of record a lease is."""
LARGE_BYTES = 16 * 1024
"""Larger records are kept compressed: annotations hold 256 KiB in all."""
MOST_BYTES = 200 * 1024
"""Of a record, as it is kept; the rest of what annotations may hold is left to others."""
MOST_UNPACKED_BYTES = 16 * 1024 * 1024

T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLease:
    """How a record is stored."""

    namespace: str
    name: str
    record: str
    """The value of the label."""
    annotation: str
    text: str
    holder: str
    stored: Document = field(default_factory=dict)
    """The lease as the server has it; empty: it is not stored yet."""

    @property
    def document(self) -> Document:
        """The lease to be created, or to be updated under the version that it has."""
        metadata = dict(self.stored.get("metadata") or {})
        metadata |= {
            "namespace": self.namespace,
            "name": self.name,
            "labels": {**(metadata.get("labels") or {}), RECORD: self.record},
            "annotations": {**(metadata.get("annotations") or {}), self.annotation: self.text},
        }
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {**(self.stored.get("spec") or {}), "holderIdentity": self.holder},
        }


def pack(record: msgspec.Struct) -> str:
    """The text of an annotation."""
    text = msgspec.json.encode(record)
    if len(text) <= LARGE_BYTES:
        return text.decode()
    return base64.b64encode(zlib.compress(text)).decode()


def find_record(annotations: Mapping[str, str], name: str, type_: type[T]) -> T | None:
    """None: there is none that can be read."""
    try:
        return msgspec.json.decode(_unpacked(annotations.get(name, "")), type=type_)
    except (msgspec.DecodeError, RecursionError, TypeError, ValueError, zlib.error):
        return None


def _unpacked(text: str) -> bytes:
    if text.startswith("{"):
        return text.encode()
    packed = zlib.decompressobj()
    unpacked = packed.decompress(base64.b64decode(text, validate=True), MOST_UNPACKED_BYTES)
    if packed.unconsumed_tail:
        raise ValueError("a record that is too large to be ours")
    return unpacked
