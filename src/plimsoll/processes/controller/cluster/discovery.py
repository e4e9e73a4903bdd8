"""Discovery: which kinds the server has, built-in and custom ones alike.

For loops that work on objects of every kind. They need nothing of an object but its metadata.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import msgspec

from plimsoll.api.meta import ApiObject
from plimsoll.api.registry import Resource
from plimsoll.api.typed import decode
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import Kind
from plimsoll.wire.kube import KubeClient

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
STALE = "Stale"
"""Says the server of a version whose own server it could not ask."""


class AnyObject(ApiObject, frozen=True, kw_only=True):
    """An object of whatever kind: its metadata."""


def metadata_only(resource: Resource) -> Kind[AnyObject]:
    return Kind(resource, _DECODE_ANY, is_shared=True)


_DECODE_ANY = partial(decode, AnyObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    resources: tuple[Resource, ...]
    """Each once, in the version that the server prefers."""
    by_kind: Mapping[tuple[str, str], Resource] = field(default_factory=dict)
    """By apiVersion and kind, in every version."""
    failures: tuple[str, ...] = ()
    """Groups that the server could not tell about: their kinds are missing."""

    def with_verbs(self, *verbs: str) -> tuple[Resource, ...]:
        return tuple(r for r in self.resources if set(verbs) <= set(r.verbs))


async def discover(client: KubeClient) -> Discovery:
    """Raises KubeError when not even the groups can be read.

    Servers tell everything in two documents, older ones in one for each version of a group.
    """
    roots = [await client.raw_get(root, accept=AGGREGATED) for root in ("/api", "/apis")]
    return _aggregated(*roots) or await _discover_one_by_one(client)


@lru_cache(maxsize=1)
def _aggregated(core: bytes, groups: bytes) -> Discovery | None:
    """None: the server does not tell everything at once. It hardly ever tells something new."""
    found = _Found()
    for root in (core, groups):
        document = msgspec.json.decode(root)
        if document.get("kind") != "APIGroupDiscoveryList":
            return None
        for group in document.get("items") or ():
            found.add_group(group)
    return found.made()


@dataclass(frozen=True, slots=True)
class _Found:
    preferred: dict[tuple[str, str], Resource] = field(default_factory=dict)
    by_kind: dict[tuple[str, str], Resource] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, resource: Resource) -> None:
        """Of each group the preferred version comes first."""
        self.preferred.setdefault((resource.group, resource.plural), resource)
        self.by_kind.setdefault((resource.api_version, resource.kind), resource)

    def add_group(self, document: dict[str, Any]) -> None:
        group = document.get("metadata", {}).get("name", "")
        for told in document.get("versions") or ():
            version = told["version"]
            if told.get("freshness") == STALE:
                self.failures.append(f"{group}/{version}: the server could not ask for it")
                continue
            for entry in told.get("resources") or ():
                # Without a kind it is there for its subresources only.
                if (entry.get("responseKind") or {}).get("kind"):
                    self.add(_aggregated_resource(entry, group, version))

    def made(self) -> Discovery:
        return Discovery(
            resources=tuple(self.preferred.values()),
            by_kind=self.by_kind,
            failures=tuple(self.failures),
        )


async def _discover_one_by_one(client: KubeClient) -> Discovery:
    found = _Found()
    for path in await _group_versions(client):
        try:
            listed = msgspec.json.decode(await client.raw_get(path))
        except KubeError as error:
            found.failures.append(f"{path.removeprefix('/apis/')}: {error.message}")
            continue
        group, _, version = listed["groupVersion"].rpartition("/")
        for entry in listed.get("resources") or ():
            if "/" not in entry["name"]:
                found.add(_resource(entry, group, version))
    return found.made()


async def _group_versions(client: KubeClient) -> list[str]:
    """Where they are served: the core group first, of each group the preferred version first."""
    groups = msgspec.json.decode(await client.raw_get("/apis"))
    paths = ["/api/v1"]
    for group in groups.get("groups") or ():
        preferred = group["preferredVersion"]["groupVersion"]
        versions = [version["groupVersion"] for version in group["versions"]]
        ordered = sorted(versions, key=lambda name: name != preferred)
        paths += [f"/apis/{name}" for name in ordered]
    return paths


def _aggregated_resource(entry: dict[str, Any], group: str, version: str) -> Resource:
    return Resource(
        group=group,
        version=version,
        plural=entry["resource"],
        kind=entry["responseKind"]["kind"],
        singular=entry.get("singularResource") or "",
        namespaced=entry.get("scope") == "Namespaced",
        short_names=tuple(entry.get("shortNames") or ()),
        categories=tuple(entry.get("categories") or ()),
        verbs=tuple(entry.get("verbs") or ()),
        subresources=(),
    )


def _resource(entry: dict[str, Any], group: str, version: str) -> Resource:
    return Resource(
        group=group,
        version=version,
        plural=entry["name"],
        kind=entry["kind"],
        singular=entry.get("singularName") or "",
        namespaced=entry["namespaced"],
        short_names=tuple(entry.get("shortNames") or ()),
        categories=tuple(entry.get("categories") or ()),
        verbs=tuple(entry["verbs"]),
        subresources=(),
    )
