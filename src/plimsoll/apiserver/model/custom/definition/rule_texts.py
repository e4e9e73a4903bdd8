"""The rules of a definition's schemas (x-kubernetes-validations), checked before it is stored."""

from collections.abc import Iterator
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.cel.program import CompilationError
from plimsoll.apiserver.model.custom.cel.rules import REASONS, compiled_rule
from plimsoll.apiserver.model.custom.json_paths import PathError, parsed_path
from plimsoll.apiserver.model.custom.nodes import SchemaNode
from plimsoll.apiserver.model.field_errors import FieldError

VALIDATIONS = "x-kubernetes-validations"
MOST_RULES = 1000
"""Of a version, everywhere in its schema."""


def rule_errors(node: SchemaNode, path: str) -> Iterator[FieldError]:
    """What is wrong with the rules of a schema, and of everything below it."""
    count = sum(1 for _ in _all_rules(node))
    if count > MOST_RULES:
        yield FieldError.too_many(path, count, MOST_RULES)
        return
    yield from _errors(node, path, is_correlatable=True)


def _all_rules(node: SchemaNode) -> Iterator[Document]:
    yield from node.rules
    for below, _, _ in _below(node, "", is_correlatable=True):
        if below.has_rules:
            yield from _all_rules(below)


def _errors(node: SchemaNode, path: str, *, is_correlatable: bool) -> Iterator[FieldError]:
    if not node.has_rules:
        return
    for index, rule in enumerate(node.rules):
        where = f"{path}.{VALIDATIONS}[{index}]"
        found = [*_text_errors(rule, where)]
        yield from found
        if not found:
            yield from _program_errors(rule, node, where, is_correlatable=is_correlatable)
    for below, place, is_known in _below(node, path, is_correlatable=is_correlatable):
        yield from _errors(below, place, is_correlatable=is_known)


def _below(
    node: SchemaNode, path: str, *, is_correlatable: bool
) -> Iterator[tuple[SchemaNode, str, bool]]:
    """Each with whether it is known which of the old values a new one takes the place of."""
    for name, below in node.properties.items():
        yield below, f"{path}.properties[{name}]", is_correlatable
    if node.additional is not None:
        yield node.additional, f"{path}.additionalProperties", is_correlatable
    if node.items is not None:
        yield node.items, f"{path}.items", is_correlatable and node.list_type == "map"


def _text_errors(rule: Document, path: str) -> Iterator[FieldError]:
    text, message = rule.get("rule", ""), rule.get("message")
    if not text.strip():
        yield FieldError.required(f"{path}.rule", "rule is not specified")
    if message is not None and not message.strip():
        yield FieldError.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif message and "\n" in message.strip():
        yield FieldError.invalid(f"{path}.message", message, "must not contain line breaks")
    elif not message and "\n" in text.strip():
        said = "message must be specified if rule contains line breaks"
        yield FieldError.required(f"{path}.message", said)
    expression = rule.get("messageExpression")
    if expression is not None and not expression.strip():
        said = "messageExpression must be non-empty if specified"
        yield FieldError.required(f"{path}.messageExpression", said)
    reason = rule.get("reason")
    if reason is not None and reason not in REASONS:
        yield FieldError.not_supported(f"{path}.reason", reason, tuple(REASONS))
    yield from _field_path_errors(rule.get("fieldPath"), f"{path}.fieldPath")


def _field_path_errors(given: Any, path: str) -> Iterator[FieldError]:
    if given is None or given == "":
        return
    if "\n" in given:
        yield FieldError.invalid(path, given, "must not contain line breaks")
        return
    try:
        parsed_path(given)
    except PathError as error:
        yield FieldError.invalid(path, given, f"fieldPath must be a valid path: {error}")


def _program_errors(
    rule: Document, node: SchemaNode, path: str, *, is_correlatable: bool
) -> Iterator[FieldError]:
    try:
        made = compiled_rule(rule, node)
    except CompilationError as error:
        yield FieldError.invalid(f"{path}.rule", rule["rule"], f"compilation failed: {error}")
        return
    if made.program.uses_old and not is_correlatable:
        said = "oldSelf cannot be used on the uncorrelatable portion of the schema"
        yield FieldError.invalid(f"{path}.rule", rule["rule"], said)
    if rule.get("optionalOldSelf") is not None and not made.program.uses_old:
        said = "may not be set if oldSelf is not used in rule"
        yield FieldError.invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], said)
