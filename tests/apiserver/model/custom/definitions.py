"""Definitions for tests, and the rules of the kinds that they define."""

from functools import cache

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.definition import conditions
from plimsoll.apiserver.model.custom.definition.rules import RULES
from plimsoll.apiserver.model.custom.served_kind import (
    CustomResource,
    ServedVersion,
    custom_resource,
)
from plimsoll.apiserver.model.definitions import snapshot_definitions
from plimsoll.apiserver.model.kinds.rules import KindRules

NOW = "2030-01-01T00:00:00Z"


def established(definition: Document) -> Document:
    """The definition with its defaults and accepted names."""
    made: Document = clone(definition)
    RULES.default(made)
    made["status"] = {"storedVersions": ["v1"]}
    conditions.settle_names(made, (), NOW)
    return made


def served(definition: Document, index: int = 0) -> ServedVersion:
    whole = established(definition)
    return ServedVersion(whole, whole["spec"]["versions"][index])


@cache
def snapshot_kind(kind: str) -> ServedVersion:
    definition = next(d for d in snapshot_definitions() if d["spec"]["names"]["kind"] == kind)
    return served(definition)


def snapshot_rules(kind: str) -> KindRules:
    return snapshot_kind(kind).rules


def snapshot_resources() -> tuple[CustomResource, ...]:
    kinds = (d["spec"]["names"]["kind"] for d in snapshot_definitions())
    return tuple(custom_resource(snapshot_kind(kind)) for kind in kinds)


def a_definition(schema: Document, **version: object) -> Document:
    """Of widgets.example.com, with one version."""
    whole = {"type": "object", "properties": {"spec": schema}}
    only = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [only | version],
        },
    }
