"""The one table of kinds: everything the API server knows about a resource as data.

Loaded once from `tables/kubernetes.json.gz`, and from `tables/snapshots.json` for the three kinds
that clusters get with the snapshot controller; nothing here is written by hand for one kind.
"""

import gzip
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import msgspec

# A Kubernetes object as it travels: JSON, nothing more is known about it.
Document = dict[str, Any]


NOT_SERVED = frozenset(
    {
        ("certificates.k8s.io", "clustertrustbundles"),
        ("certificates.k8s.io", "podcertificaterequests"),
        ("resource.k8s.io", "devicetaintrules"),
        ("storage.k8s.io", "csinodes/status"),
        ("storagemigration.k8s.io", "storageversionmigrations"),
    }
)
"""(group, plural) of what the tables know as v1 and no release of Kubernetes serves as v1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    name: str
    kind: str
    group: str = ""
    version: str = ""
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """A column that `kubectl get` prints; priority 0 is always shown, others with `-o wide`."""

    name: str
    type: str
    format: str
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    group: str
    version: str
    plural: str
    kind: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    verbs: tuple[str, ...]
    subresources: tuple[Subresource, ...]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_version_path(self) -> str:
        """Where the group version is served: `api/v1` or `apis/storage.k8s.io/v1`."""
        return f"apis/{self.group}/{self.version}" if self.group else f"api/{self.version}"

    @property
    def qualified_name(self) -> str:
        """How error messages name the resource: `storageclasses.storage.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    resources: tuple[Resource, ...]
    columns: dict[str, tuple[PrinterColumn, ...]]
    """By `plural.version.group`, or `plural.version` for the core group."""
    schemas: dict[str, Document]
    protobuf: dict[str, list[Document]]
    """Custom kinds have none: they are read and written as JSON alone."""


@cache
def tables() -> Tables:
    packed = resources.files("plimsoll.api.tables").joinpath("kubernetes.json.gz").read_bytes()
    raw, custom = msgspec.json.decode(gzip.decompress(packed)), custom_tables()
    return Tables(
        resources=tuple(
            _resource(entry)
            for entry in raw["resources"] + custom["resources"]
            if (entry["group"], entry["resource"]) not in NOT_SERVED
        ),
        columns={
            name: tuple(msgspec.convert(c, PrinterColumn) for c in columns)
            for name, columns in (raw["tables"] | custom["tables"]).items()
        },
        schemas=raw["schemas"] | custom["schemas"],
        protobuf=raw["protobuf"],
    )


@cache
def custom_tables() -> Document:
    """What the definitions of the snapshot kinds say; `shapes` is for the server's model."""
    raw = resources.files("plimsoll.api.tables").joinpath("snapshots.json").read_bytes()
    decoded: Document = msgspec.json.decode(raw)
    return decoded


def _resource(entry: Document) -> Resource:
    return Resource(
        group=entry["group"],
        version=entry["version"],
        plural=entry["resource"],
        kind=entry["kind"],
        singular=entry["singular"],
        namespaced=entry["scope"] == "Namespaced",
        short_names=tuple(entry["shortNames"]),
        categories=tuple(entry["categories"]),
        verbs=tuple(entry["verbs"]),
        subresources=tuple(
            Subresource(
                name=sub["name"],
                kind=sub["kind"],
                group=sub["group"],
                version=sub["version"],
                verbs=tuple(sub["verbs"]),
            )
            for sub in entry["subresources"]
            if (entry["group"], f"{entry['resource']}/{sub['name']}") not in NOT_SERVED
        ),
    )


@cache
def resources_by_path() -> dict[tuple[str, str, str], Resource]:
    """By (group, version, plural)."""
    return {(r.group, r.version, r.plural): r for r in tables().resources}


@cache
def resources_by_kind() -> dict[tuple[str, str, str], Resource]:
    """By (group, version, kind)."""
    return {(r.group, r.version, r.kind): r for r in tables().resources}
