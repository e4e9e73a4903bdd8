from dataclasses import replace

from plimsoll.api.registry import (
    NOT_SERVED,
    Document,
    Resource,
    builtin_resources,
    resources_by_path,
)
from plimsoll.apiserver.model import discovery
from tests.apiserver.model.custom.definitions import snapshot_resources

RESOURCES = (*builtin_resources(), *snapshot_resources())


def entry(listed: Document | None, name: str) -> Document:
    assert listed is not None
    return next(dict(e) for e in listed["resources"] if e["name"] == name)


def a_widget(version: str) -> Resource:
    claims = resources_by_path()["", "v1", "persistentvolumeclaims"]
    return replace(
        claims,
        group="example.com",
        version=version,
        plural="widgets",
        singular="widget",
        kind="Widget",
        short_names=(),
        subresources=(),
    )


def test_core_list_names_resources_and_subresources() -> None:
    listed = discovery.find_resource_list(RESOURCES, "", "v1")
    assert listed is not None
    assert "apiVersion" not in listed
    assert listed["groupVersion"] == "v1"
    assert entry(listed, "persistentvolumeclaims") == {
        "name": "persistentvolumeclaims",
        "singularName": "persistentvolumeclaim",
        "namespaced": True,
        "kind": "PersistentVolumeClaim",
        "verbs": [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ],
        "shortNames": ["pvc"],
    }
    assert entry(listed, "persistentvolumeclaims/status") == {
        "name": "persistentvolumeclaims/status",
        "singularName": "",
        "namespaced": True,
        "kind": "PersistentVolumeClaim",
        "verbs": ["get", "patch", "update"],
    }


def test_subresource_of_another_group_says_so() -> None:
    listed = discovery.find_resource_list(RESOURCES, "apps", "v1")
    assert listed is not None
    assert listed["apiVersion"] == "v1"
    scale = entry(listed, "statefulsets/scale")
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


def test_group_version_that_is_not_served_is_not_found() -> None:
    assert discovery.find_resource_list(RESOURCES, "example.com", "v1") is None
    assert discovery.find_group(RESOURCES, "example.com") is None
    assert discovery.find_group(RESOURCES, "") is None


def test_first_version_of_a_group_is_preferred() -> None:
    group = discovery.find_group(RESOURCES, "autoscaling")
    assert group is not None
    assert group["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}
    assert [version["version"] for version in group["versions"]] == ["v2", "v1"]


def test_group_list_leaves_out_the_core_group() -> None:
    listed = discovery.group_list(RESOURCES)
    names = [group["name"] for group in listed["groups"]]
    assert "storage.k8s.io" in names
    assert "" not in names
    assert len(names) == len(set(names))


def test_aggregated_documents_tell_the_same_as_the_classic_ones() -> None:
    documents = (
        discovery.aggregated_core(RESOURCES, "v2"),
        discovery.aggregated_groups(RESOURCES, "v2"),
    )
    told = {
        (item["metadata"].get("name", ""), version["version"], resource["resource"], sub)
        for document in documents
        for item in document["items"]
        for version in item["versions"]
        for resource in version["resources"]
        for sub in ["", *(s["subresource"] for s in resource.get("subresources", ()))]
    }
    classic = {
        (r.group, r.version, r.plural, sub)
        for r in RESOURCES
        for sub in ["", *(s.name for s in r.subresources)]
    }
    assert told == classic


def test_aggregated_entry_has_what_clients_map_names_with() -> None:
    document = discovery.aggregated_groups(RESOURCES, "v2beta1")
    assert document["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    group = next(i for i in document["items"] if i["metadata"]["name"] == "storage.k8s.io")
    (version,) = group["versions"]
    classes = next(r for r in version["resources"] if r["resource"] == "storageclasses")
    assert version["freshness"] == "Current"
    assert classes["scope"] == "Cluster"
    assert classes["shortNames"] == ["sc"]
    assert classes["responseKind"] == {"group": "", "version": "", "kind": "StorageClass"}


def test_aggregated_entries_name_a_version_where_it_is_not_that_of_their_group() -> None:
    groups = discovery.aggregated_groups(RESOURCES, "v2")["items"]
    entries = {
        entry["resource"]: entry
        for group in groups
        for version in group["versions"]
        for entry in version["resources"]
    }
    told = {part["subresource"]: part for part in entries["deployments"]["subresources"]}
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert told["scale"]["responseKind"] == scale
    assert told["status"]["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}
    custom = {"group": "snapshot.storage.k8s.io", "version": "v1", "kind": "VolumeSnapshot"}
    assert entries["volumesnapshots"]["responseKind"] == custom


def test_custom_resource_is_told_like_a_built_in_one() -> None:
    resources = [*RESOURCES, a_widget("v2"), a_widget("v1")]
    group = discovery.find_group(resources, "example.com")
    listed = discovery.find_resource_list(resources, "example.com", "v1")
    assert group is not None
    assert group["preferredVersion"]["version"] == "v2"
    assert entry(listed, "widgets")["kind"] == "Widget"


def test_api_versions_name_the_server() -> None:
    document = discovery.api_versions("127.0.0.1:6443")
    assert document["versions"] == ["v1"]
    assert document["serverAddressByClientCIDRs"][0]["serverAddress"] == "127.0.0.1:6443"


def test_snapshots_are_told_as_their_definitions_would() -> None:
    listed = discovery.find_resource_list(RESOURCES, "snapshot.storage.k8s.io", "v1")
    assert listed is not None
    names = {e["name"]: e.get("shortNames") for e in listed["resources"]}
    assert names == {
        "volumesnapshotclasses": ["vsclass", "vsclasses"],
        "volumesnapshotcontents": ["vsc", "vscs"],
        "volumesnapshotcontents/status": None,
        "volumesnapshots": ["vs"],
        "volumesnapshots/status": None,
    }


def test_nothing_is_told_of_that_no_real_server_serves_as_v1() -> None:
    served = {
        (resource.group, name)
        for resource in RESOURCES
        for name in (
            resource.plural,
            *(f"{resource.plural}/{sub.name}" for sub in resource.subresources),
        )
    }
    assert ("storage.k8s.io", "csinodes") in served
    assert served.isdisjoint(NOT_SERVED)
