"""Discovery: which kinds the server has, built-in and custom ones alike.

For loops that work on objects of every kind. They need nothing of an object but its metadata.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from plimsoll.api.meta import ApiObject
from plimsoll.api.registry import Resource
from plimsoll.api.typed import decode
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import Kind
from plimsoll.wire.kube import KubeClient


class AnyObject(ApiObject, frozen=True, kw_only=True):
    """An object of whatever kind: its metadata."""


def metadata_only(resource: Resource) -> Kind[AnyObject]:
    return Kind(resource, lambda raw: decode(AnyObject, raw))


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    resources: tuple[Resource, ...]
    """Each once, in the version that the server prefers."""
    by_kind: Mapping[tuple[str, str], Resource] = field(default_factory=dict)
    """By apiVersion and kind, in every version."""
    failures: tuple[str, ...] = ()
    """Groups that the server could not tell about: their kinds are missing."""

    def with_verbs(self, *verbs: str) -> tuple[Resource, ...]:
        return tuple(r for r in self.resources if set(verbs) <= set(r.verbs))


async def served(client: KubeClient) -> Served:
    """Raises KubeError when not even the groups can be read."""
    preferred: dict[tuple[str, str], Resource] = {}
    by_kind: dict[tuple[str, str], Resource] = {}
    failures: list[str] = []
    for path in await _group_versions(client):
        try:
            listed = msgspec.json.decode(await client.raw_get(path))
        except KubeError as error:
            failures.append(f"{path.removeprefix('/apis/')}: {error.message}")
            continue
        group, _, version = listed["groupVersion"].rpartition("/")
        for entry in listed.get("resources") or ():
            if "/" not in entry["name"]:
                resource = _resource(entry, group, version)
                preferred.setdefault((group, resource.plural), resource)
                by_kind.setdefault((resource.api_version, resource.kind), resource)
    return Served(resources=tuple(preferred.values()), by_kind=by_kind, failures=tuple(failures))


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
