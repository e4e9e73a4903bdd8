"""The one table of kinds: names, verbs and subresources of every resource of the API.

Loaded once from `tables/resources.json.gz`, and from `tables/snapshots.json` for the three kinds
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

    def __hash__(self) -> int:
        """Every request looks up what is known of its resource: three names tell them apart."""
        return hash((self.group, self.version, self.plural))

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


@cache
def all_resources() -> tuple[Resource, ...]:
    return tuple(
        _resource(entry)
        for entry in _recorded()
        if (entry["group"], entry["resource"]) not in NOT_SERVED
    )


def _recorded() -> list[Document]:
    tables = resources.files("plimsoll.api.tables")
    builtin = gzip.decompress(tables.joinpath("resources.json.gz").read_bytes())
    custom = tables.joinpath("snapshots.json").read_bytes()
    recorded: list[Document] = msgspec.json.decode(builtin) + msgspec.json.decode(custom)
    return recorded


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


CUSTOM_GROUP = "snapshot.storage.k8s.io"
"""Its kinds are known to all processes, and served by a server that has their definitions."""


@cache
def builtin_resources() -> tuple[Resource, ...]:
    """Those that every server has without a definition."""
    return tuple(r for r in all_resources() if r.group != CUSTOM_GROUP)


@cache
def builtin_by_path() -> dict[tuple[str, str, str], Resource]:
    """By (group, version, plural)."""
    return {(r.group, r.version, r.plural): r for r in builtin_resources()}


@cache
def builtin_collections() -> frozenset[tuple[str, str]]:
    """Group and plural: objects of all versions of these are kept together."""
    return frozenset((r.group, r.plural) for r in builtin_resources())


@cache
def resources_by_path() -> dict[tuple[str, str, str], Resource]:
    """By (group, version, plural)."""
    return {(r.group, r.version, r.plural): r for r in all_resources()}


@cache
def resources_by_kind() -> dict[tuple[str, str, str], Resource]:
    """By (group, version, kind)."""
    return {(r.group, r.version, r.kind): r for r in all_resources()}
