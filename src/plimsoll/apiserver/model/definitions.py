"""What the definition of the API says of kinds: schemas, printed columns, protobuf messages.

Loaded once from `tables/kubernetes.json.gz`, and from `tables/snapshots.json` for the three kinds
that clusters get with the snapshot controller; nothing here is written by hand for one kind.
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
    """Custom kinds have none: they are read and written as JSON alone."""


@cache
def definitions() -> Definitions:
    packed = resources.files(TABLES).joinpath("kubernetes.json.gz").read_bytes()
    raw, custom = msgspec.json.decode(gzip.decompress(packed)), custom_definitions()
    return Definitions(
        columns={
            name: tuple(msgspec.convert(c, PrinterColumn) for c in columns)
            for name, columns in (raw["tables"] | custom["tables"]).items()
        },
        schemas=raw["schemas"] | custom["schemas"],
        protobuf=raw["protobuf"],
    )


@cache
def custom_definitions() -> Document:
    """What the definitions of the snapshot kinds say; `shapes` is for the module of that name."""
    raw = resources.files(TABLES).joinpath("snapshots.json").read_bytes()
    decoded: Document = msgspec.json.decode(raw)
    return decoded
