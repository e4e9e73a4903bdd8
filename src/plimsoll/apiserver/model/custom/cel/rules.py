"""The rules of a kind, evaluated for every place of a document that has some.

A rule that looks at what was there before is evaluated only where something was. A rule about a
part that an update leaves as it was is not evaluated again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.cel.program import (
    CompilationError,
    Program,
    compiled_program,
)
from plimsoll.apiserver.model.custom.cel.typed_values import needs_types, typed
from plimsoll.apiserver.model.custom.cel.values import (
    MOST_STEPS,
    NONE,
    BudgetError,
    CelError,
    Meter,
    optional_of,
)
from plimsoll.apiserver.model.custom.checking import list_key
from plimsoll.apiserver.model.custom.nodes import MISSING, SchemaNode
from plimsoll.apiserver.model.field_errors import NO_VALUE, ErrorType, FieldError

REASONS = {
    "FieldValueForbidden": ErrorType.FORBIDDEN,
    "FieldValueInvalid": ErrorType.INVALID,
    "FieldValueRequired": ErrorType.REQUIRED,
    "FieldValueDuplicate": ErrorType.DUPLICATE,
}
LONGEST_MESSAGE = 5120
NO_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class _ExhaustedError(Exception):
    """No rule may run any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRule:
    raw: Document
    program: Program
    message: Program | None

    @property
    def text(self) -> str:
        said: str = self.raw.get("message") or self.raw["rule"]
        return said.strip()


def compiled_rule(rule: Document, node: SchemaNode) -> CompiledRule:
    """Raises CompilationError."""
    old = None if rule.get("optionalOldSelf") else node
    places = {"self": node, "oldSelf": old}
    message = rule.get("messageExpression")
    return CompiledRule(
        raw=rule,
        program=compiled_program(rule["rule"], places),
        message=compiled_program(message, places, wants_truth=False) if message else None,
    )


class RuleChecks:
    """All rules of a schema; they are compiled when the first document is checked."""

    def __init__(self, node: SchemaNode, steps: int = MOST_STEPS) -> None:
        self._node = node
        self._steps = steps
        self._compiled: dict[int, list[CompiledRule]] = {}
        self._needs_types = needs_types(node)

    def errors(self, new: Document, old: Document | None) -> list[FieldError]:
        check = _Check(self._rules, Meter(self._steps), types=self._needs_types)
        found: list[FieldError] = []
        before = MISSING if old is None else old
        try:
            found.extend(check.errors(self._node, new, before, ""))
        except _ExhaustedError:
            return [*check.found, FieldError.invalid("<nil>", "object", NO_BUDGET)]
        return found

    def _rules(self, node: SchemaNode) -> list[CompiledRule]:
        known = self._compiled.get(id(node))
        if known is None:
            known = self._compiled[id(node)] = list(_compiled(node))
        return known


def _compiled(node: SchemaNode) -> Iterator[CompiledRule]:
    for rule in node.rules:
        try:
            yield compiled_rule(rule, node)
        except CompilationError:
            # Refused when the definition was written; one of an older server is passed over there.
            continue


class _Check:
    def __init__(self, rules: Any, meter: Meter, *, types: bool) -> None:
        self._rules = rules
        self._meter = meter
        self._types = types
        self.found: list[FieldError] = []

    def errors(self, node: SchemaNode, value: Any, old: Any, path: str) -> Iterator[FieldError]:
        if not node.has_rules or value is None:
            return
        if node.rules:
            yield from self._own(node, value, old, path)
        if old is not MISSING and value == old:
            # Rules below see the same as before: only those of this place may look elsewhere.
            return
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for name, member in value.items():
                below = node.child(name)
                if below is not None:
                    where = f"{path}.{name}" if path else name
                    yield from self.errors(below, member, before.get(name, MISSING), where)
        elif isinstance(value, list) and node.items is not None:
            earlier = self._earlier(node, old)
            for index, item in enumerate(value):
                was = _found(node, earlier, item)
                yield from self.errors(node.items, item, was, f"{path}[{index}]")

    def _earlier(self, node: SchemaNode, old: Any) -> dict[tuple[str, ...], Any]:
        if not isinstance(old, list) or node.list_type != "map":
            return {}
        keys = node.raw.get("x-kubernetes-list-map-keys") or []
        return {list_key(keys, item): item for item in old if isinstance(item, dict)}

    def _own(self, node: SchemaNode, value: Any, old: Any, path: str) -> Iterator[FieldError]:
        has_old = old is not MISSING and old is not None
        seen = typed(node, value) if self._types else value
        before = (typed(node, old) if self._types else old) if has_old else None
        is_same = has_old and value == old
        for rule in self._rules(node):
            is_optional = rule.raw.get("optionalOldSelf", False)
            if rule.program.uses_old and not has_old and not is_optional:
                continue
            if is_same and not rule.program.uses_old:
                continue
            variables = {"self": seen, "oldSelf": before}
            if is_optional:
                variables["oldSelf"] = optional_of(before) if has_old else NONE
            error = self._judged(rule, variables, value, path)
            if error is not None:
                self.found.append(error)
                yield error

    def _judged(
        self, rule: CompiledRule, variables: dict[str, Any], value: Any, path: str
    ) -> FieldError | None:
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
        try:
            if rule.program.value(variables, self._meter) is True:
                return None
        except BudgetError:
            raise _ExhaustedError from None
        except CelError as error:
            said = f"{error} evaluating rule: {rule.text}"
            if str(error).startswith("no such overload"):
                said = (
                    f"'{error}': call arguments did not match a supported operator, function or "
                    f"macro signature for rule: {rule.text}"
                )
            return FieldError.invalid(path or "<nil>", kind or value, said)
        return self._refused(rule, variables, NO_VALUE if kind else value, path)

    def _refused(
        self, rule: CompiledRule, variables: dict[str, Any], value: Any, path: str
    ) -> FieldError:
        where = path + _normalized(rule.raw.get("fieldPath", ""))
        reason = REASONS.get(rule.raw.get("reason", ""), ErrorType.INVALID)
        detail = self._message(rule, variables)
        where = where.removeprefix(".") or "<nil>"
        if reason is ErrorType.DUPLICATE:
            return FieldError(reason, where, "", value)
        return FieldError(reason, where, detail, value)

    def _message(self, rule: CompiledRule, variables: dict[str, Any]) -> str:
        plain = (rule.raw.get("message") or f"failed rule: {rule.raw['rule']}").strip()
        if rule.message is None:
            return plain
        try:
            made = rule.message.value(variables, self._meter)
        except BudgetError:
            raise _ExhaustedError from None
        except CelError:
            return plain
        is_usable = isinstance(made, str) and made.strip() and "\n" not in made
        return made.strip() if is_usable and len(made) <= LONGEST_MESSAGE else plain


def _found(node: SchemaNode, earlier: dict[tuple[str, ...], Any], item: Any) -> Any:
    if not earlier or not isinstance(item, dict):
        return MISSING
    keys = node.raw.get("x-kubernetes-list-map-keys") or []
    return earlier.get(list_key(keys, item), MISSING)


def _normalized(path: str) -> str:
    """`.a['b.c']` as complaints write it."""
    return path.replace("['", "[").replace("']", "]")
