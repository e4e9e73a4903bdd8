import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.served_kind import custom_resource
from plimsoll.apiserver.model.scalars import SchemaError
from tests.apiserver.model.custom.definitions import a_definition, served

SPEC: Document = {
    "type": "object",
    "properties": {"a": {"type": "string", "default": "x"}, "n": {"type": "integer"}},
}


def test_a_document_is_read_without_what_is_unknown_and_left_as_it_was() -> None:
    body: Document = {"metadata": {"name": "a", "odd": 1}, "spec": {"z": 1}, "more": 1}
    result = served(a_definition(SPEC)).read(body)
    assert result.document == {"metadata": {"name": "a"}, "spec": {"a": "x"}}
    assert result.unknown == [
        'unknown field "metadata.odd"',
        'unknown field "spec.z"',
        'unknown field "more"',
    ]
    assert body["spec"] == {"z": 1}


@pytest.mark.parametrize(
    ("given", "shown"),
    [(3.0, "3"), (-1e3, "-1000"), (-0.0, "0"), (1.5, "1.5"), (1e300, "1e+300"), (True, "True")],
)
def test_a_whole_number_is_one_that_clients_read_as_an_integer(given: float, shown: str) -> None:
    document = served(a_definition(SPEC)).read({"spec": {"n": given}}).document

    assert str(document["spec"]["n"]) == shown


def test_metadata_that_is_none_is_refused() -> None:
    with pytest.raises(SchemaError):
        served(a_definition(SPEC)).read({"metadata": {"labels": []}})


def test_a_kind_with_a_status_endpoint_drops_and_keeps_the_status() -> None:
    rules = served(a_definition(SPEC, subresources={"status": {}})).rules
    assert not rules.counts_status
    plain = served(a_definition(SPEC)).rules
    assert plain.counts_status
    assert (plain.is_custom, plain.has_generation, plain.unconditional_update) == (
        True,
        True,
        False,
    )


def test_the_resource_has_the_accepted_names_and_the_subresources() -> None:
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    version = served(a_definition(SPEC, subresources={"status": {}, "scale": scale}))
    resource = custom_resource(version)
    assert (resource.api_version, resource.plural, resource.kind) == (
        "example.com/v1",
        "widgets",
        "Widget",
    )
    assert [part.name for part in resource.subresources] == ["status", "scale"]


def test_numbers_of_the_scale_are_not_negative() -> None:
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    rules = served(a_definition(SPEC, subresources={"scale": scale})).rules
    [error] = rules.validate({"metadata": {}, "spec": {"n": -1}})
    assert (error.field, error.detail) == (".spec.n", "should be a non-negative integer")
