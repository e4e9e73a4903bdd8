from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from plimsoll.api.registry import Document, builtin_resources, resources_by_path
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.openapi import document as openapi
from plimsoll.apiserver.model.openapi.prose import DESCRIPTIONS
from tests.apiserver.model.custom.definitions import snapshot_resources

RESOURCES = (*builtin_resources(), *snapshot_resources())
PATHS = sorted({r.group_version_path for r in RESOURCES})


def document(path: str) -> Document:
    found = openapi.find_document(RESOURCES, path)
    assert found is not None
    return found


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


@pytest.mark.parametrize("path", PATHS)
def test_document_is_complete_in_itself(path: str) -> None:
    built = document(path)
    known = {f"#/components/schemas/{name}" for name in built["components"]["schemas"]}
    assert set(references(built)) <= known


def test_document_holds_only_what_its_kinds_need() -> None:
    schemas = document("apis/coordination.k8s.io/v1")["components"]["schemas"]
    assert "io.k8s.api.coordination.v1.Lease" in schemas
    assert "io.k8s.api.core.v1.Pod" not in schemas


def test_operation_ids_are_unique() -> None:
    ids = [
        operation["operationId"]
        for path in PATHS
        for item in document(path)["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(ids) == len(set(ids))


def test_patch_operation_tells_that_fields_are_validated() -> None:
    operation = document("api/v1")["paths"][
        "/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"
    ]["patch"]
    assert operation["x-kubernetes-group-version-kind"] == {
        "group": "",
        "version": "v1",
        "kind": "PersistentVolumeClaim",
    }
    assert {"fieldValidation", "dryRun", "fieldManager", "force"} <= {
        parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "query"
    }


def test_paths_follow_scope_and_verbs() -> None:
    paths = document("apis/storage.k8s.io/v1")["paths"]
    root = "/apis/storage.k8s.io/v1"
    assert set(paths[f"{root}/storageclasses"]) == {"get", "post", "delete", "parameters"}
    assert set(paths[f"{root}/csistoragecapacities"]) == {"get", "parameters"}
    assert f"{root}/namespaces/{{namespace}}/csistoragecapacities/{{name}}" in paths
    assert set(paths[f"{root}/volumeattachments/{{name}}/status"]) == {
        "get",
        "put",
        "patch",
        "parameters",
    }
    bindings = document("api/v1")["paths"]["/api/v1/namespaces/{namespace}/bindings"]
    assert set(bindings) == {"post", "parameters"}


def test_path_parameters_are_declared() -> None:
    item = document("api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    assert [parameter["name"] for parameter in item["parameters"]] == ["name", "namespace"]


def test_kinds_carry_what_patches_and_lists_need() -> None:
    schemas = document("api/v1")["components"]["schemas"]
    pod = schemas["io.k8s.api.core.v1.Pod"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Pod", "version": "v1"}]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-type"] == "map"
    assert containers["items"] == {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}


def test_fields_that_refer_keep_their_default_and_description() -> None:
    spec = document("api/v1")["components"]["schemas"]["io.k8s.api.core.v1.Pod"]["properties"]
    assert spec["spec"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]
    assert spec["spec"]["default"] == {}
    assert spec["spec"]["description"]


def test_field_named_like_a_keyword_stays_a_field() -> None:
    schemas = document("apis/apiextensions.k8s.io/v1")["components"]["schemas"]
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    assert schemas[name]["properties"]["$ref"]["type"] == "string"


def test_index_points_at_every_document() -> None:
    index = openapi.Fingerprints().index(RESOURCES)["paths"]
    assert sorted(index) == PATHS
    url = index["apis/storage.k8s.io/v1"]["serverRelativeURL"]
    assert url.startswith("/openapi/v3/apis/storage.k8s.io/v1?hash=")


def test_hash_changes_with_the_document_and_only_with_it() -> None:
    before = openapi.Fingerprints().index(RESOURCES)["paths"]
    widget = replace(
        resources_by_path()["storage.k8s.io", "v1", "csinodes"], plural="widgets", kind="Widget"
    )
    after = openapi.Fingerprints().index([*RESOURCES, widget])["paths"]
    changed = {path for path in before if before[path] != after[path]}
    assert changed == {"apis/storage.k8s.io/v1"}


def test_group_version_that_is_not_served_has_no_document() -> None:
    assert openapi.find_document(RESOURCES, "apis/nothing/v1") is None


def test_every_sentence_belongs_to_a_field_that_exists() -> None:
    known = set()
    for name, schema in definitions().schemas.items():
        kind = name.rpartition(".")[2]
        known.add(kind)
        for field in schema.get("properties", {}):
            known |= {f"{kind}.{field}", f"*.{field}"}
    assert set(DESCRIPTIONS) <= known
