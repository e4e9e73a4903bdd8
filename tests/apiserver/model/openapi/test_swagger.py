from collections.abc import Iterator
from typing import Any

from plimsoll.api.registry import builtin_resources
from plimsoll.apiserver.model.openapi import swagger
from tests.apiserver.model.custom.definitions import snapshot_resources

SERVED = (*builtin_resources(), *snapshot_resources())
BUILT = swagger.document(SERVED)
CLAIM = "/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for member in value.values():
            yield from keys(member)
    elif isinstance(value, list):
        for member in value:
            yield from keys(member)


def test_the_document_is_complete_in_itself() -> None:
    assert BUILT["swagger"] == "2.0"
    assert set(references(BUILT)) <= {f"#/definitions/{name}" for name in BUILT["definitions"]}


def test_nothing_is_said_in_a_way_that_only_newer_clients_know() -> None:
    assert set(keys(BUILT["paths"])).isdisjoint({"requestBody", "content", "allOf", "oneOf"})


def test_every_kind_that_is_served_is_defined() -> None:
    defined = {
        (kind["group"], kind["version"], kind["kind"])
        for schema in BUILT["definitions"].values()
        for kind in schema.get("x-kubernetes-group-version-kind", ())
    }
    served = {(r.group, r.version, r.kind) for r in SERVED}
    assert served <= defined


def test_a_field_that_is_another_schema_keeps_its_description() -> None:
    fields = BUILT["definitions"]["io.k8s.api.core.v1.PersistentVolumeClaim"]["properties"]
    assert fields["spec"]["$ref"] == "#/definitions/io.k8s.api.core.v1.PersistentVolumeClaimSpec"
    assert fields["spec"]["description"]


def test_a_patch_tells_that_it_can_be_tried() -> None:
    patch = BUILT["paths"][CLAIM]["patch"]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "PersistentVolumeClaim"
    parameters = {parameter["name"]: parameter["in"] for parameter in patch["parameters"]}
    assert (parameters["body"], parameters["dryRun"]) == ("body", "query")
    assert "application/apply-patch+yaml" in patch["consumes"]
