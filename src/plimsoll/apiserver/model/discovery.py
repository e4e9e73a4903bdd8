"""What the server serves, told to clients: the classic documents and the aggregated ones.

All functions take the resources as an argument, so that custom resources are told like built-in
ones. The first version of a group in that order is the preferred one.
"""

from collections.abc import Iterable, Sequence

from plimsoll.api.registry import Document, Resource, Subresource
from plimsoll.apiserver.model.custom.served_kind import CustomResource

AGGREGATED_VERSIONS = ("v2", "v2beta1")


def api_versions(server_address: str) -> Document:
    """`/api`: the versions of the core group."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address},
        ],
    }


def group_list(resources: Iterable[Resource]) -> Document:
    """`/apis`: all groups but the core group."""
    groups = [
        _group(name, versions) for name, versions in _versions_by_group(resources).items() if name
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def find_group(resources: Iterable[Resource], name: str) -> Document | None:
    """`/apis/<group>`."""
    versions = _versions_by_group(resources).get(name)
    if not name or not versions:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, versions)


def find_resource_list(resources: Iterable[Resource], group: str, version: str) -> Document | None:
    """`/api/v1` and `/apis/<group>/<version>`."""
    served = [r for r in resources if (r.group, r.version) == (group, version)]
    if not served:
        return None
    listed: Document = {"kind": "APIResourceList"}
    if group:
        listed["apiVersion"] = "v1"  # the core group's list is older than this field
    return listed | {
        "groupVersion": served[0].api_version,
        "resources": [entry for resource in served for entry in _entries(resource)],
    }


def aggregated_core(resources: Iterable[Resource], version: str) -> Document:
    """`/api` for clients that want everything in one answer."""
    return _aggregated((r for r in resources if not r.group), version)


def aggregated_groups(resources: Iterable[Resource], version: str) -> Document:
    """`/apis` for clients that want everything in one answer."""
    return _aggregated((r for r in resources if r.group), version)


def _versions_by_group(resources: Iterable[Resource]) -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for resource in resources:
        known = versions.setdefault(resource.group, [])
        if resource.version not in known:
            known.append(resource.version)
    return versions


def _group(name: str, versions: Sequence[str]) -> Document:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _entries(resource: Resource) -> list[Document]:
    own: Document = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    return [own | _nicknames(resource)] + [
        _subresource_entry(resource, subresource) for subresource in resource.subresources
    ]


def _subresource_entry(resource: Resource, subresource: Subresource) -> Document:
    entry: Document = {
        "name": f"{resource.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": subresource.kind,
        "verbs": list(subresource.verbs),
    }
    if subresource.version:
        entry |= {"group": subresource.group, "version": subresource.version}
    return entry


def _nicknames(resource: Resource) -> Document:
    nicknames: Document = {}
    if resource.short_names:
        nicknames["shortNames"] = list(resource.short_names)
    if resource.categories:
        nicknames["categories"] = list(resource.categories)
    return nicknames


def _aggregated(resources: Iterable[Resource], version: str) -> Document:
    by_group: dict[str, dict[str, list[Resource]]] = {}
    for resource in resources:
        by_version = by_group.setdefault(resource.group, {})
        by_version.setdefault(resource.version, []).append(resource)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": served_version,
                        "resources": [_aggregated_entry(resource) for resource in served],
                        "freshness": "Current",
                    }
                    for served_version, served in by_version.items()
                ],
            }
            for group, by_version in by_group.items()
        ],
    }


def _aggregated_entry(resource: Resource) -> Document:
    entry: Document = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.subresources:
        entry["subresources"] = [
            _aggregated_subresource(resource, s) for s in resource.subresources
        ]
    return entry | _nicknames(resource)


def _aggregated_subresource(resource: Resource, subresource: Subresource) -> Document:
    """A subresource that names no version of its own speaks the resource's."""
    owner = subresource if subresource.version else resource
    return {
        "subresource": subresource.name,
        "responseKind": _response_kind(owner, subresource.kind),
        "verbs": list(subresource.verbs),
    }


def _response_kind(owner: Resource | Subresource, kind: str) -> Document:
    """Real servers leave out the group version that the entry stands in, but for custom kinds."""
    is_implied = isinstance(owner, Resource) and not isinstance(owner, CustomResource)
    group, version = ("", "") if is_implied else (owner.group, owner.version)
    return {"group": group, "version": version, "kind": kind}
