"""The definitions are complete: every resource has a schema, custom kinds as well."""

from plimsoll.api.registry import all_resources
from plimsoll.apiserver.model.definitions import custom_definitions, definitions
from plimsoll.apiserver.model.schema import schema_name


def test_every_resource_that_is_listed_has_a_schema() -> None:
    missing = [
        resource.qualified_name
        for resource in all_resources()
        if schema_name(resource.group, resource.version, resource.kind) not in definitions().schemas
    ]
    assert missing == []


def test_custom_kinds_are_defined_beside_the_others_and_have_no_protobuf() -> None:
    custom = custom_definitions()["schemas"]
    assert custom.keys() <= definitions().schemas.keys()
    assert not custom.keys() & definitions().protobuf.keys()
