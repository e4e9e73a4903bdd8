"""What the definition of the API says of kinds: schemas, printed columns, protobuf messages.

Loaded once from `tables/kubernetes.json.gz`; nothing here is written by hand for one kind. The
definitions of the snapshot kinds are in `tables/snapshots.json`: each cluster has them from its
first moment on.
"""

import gzip
from dataclasses import dataclass
from functools import cache
from importlib import resources

import msgspec

from plimsoll.api.registry import Document

TABLES = "plimsoll.apiserver.model.tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """A column that `kubectl get` prints; priority 0 is always shown, others with `-o wide`."""

    name: str
    type: str
    format: str
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    columns: dict[str, tuple[PrinterColumn, ...]]
    """By `plural.version.group`, or `plural.version` for the core group."""
    schemas: dict[str, Document]
    protobuf: dict[str, list[Document]]


@cache
def definitions() -> Definitions:
    packed = resources.files(TABLES).joinpath("kubernetes.json.gz").read_bytes()
    raw = msgspec.json.decode(gzip.decompress(packed))
    return Definitions(
        columns={
            name: tuple(msgspec.convert(c, PrinterColumn) for c in columns)
            for name, columns in raw["tables"].items()
        },
        schemas=raw["schemas"],
        protobuf=raw["protobuf"],
    )


def snapshot_definitions() -> list[Document]:
    """The CustomResourceDefinitions of the snapshot kinds."""
    raw = resources.files(TABLES).joinpath("snapshots.json").read_bytes()
    decoded: list[Document] = msgspec.json.decode(raw)
    return decoded
