"""The definitions are complete: every resource that is built in has a schema."""

from plimsoll.api.registry import builtin_resources
from plimsoll.apiserver.model.custom.definition.rules import RULES
from plimsoll.apiserver.model.definitions import definitions, snapshot_definitions
from plimsoll.apiserver.model.schema import schema_name
from tests.apiserver.model.custom.definitions import established


def test_every_resource_that_is_listed_has_a_schema() -> None:
    missing = [
        resource.qualified_name
        for resource in builtin_resources()
        if schema_name(resource.group, resource.version, resource.kind) not in definitions().schemas
    ]
    assert missing == []


def test_the_definitions_of_the_snapshot_kinds_are_such_that_the_server_takes_them() -> None:
    for definition in map(established, snapshot_definitions()):
        assert list(RULES.validate(definition)) == []
