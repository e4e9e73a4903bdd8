"""Which taints of nodes a pod puts up with."""

from collections.abc import Iterator

from plimsoll.api.names import label_value_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import one_of, qualified_name

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS = ("Equal", "Exists")


def toleration_errors(tolerations: list[Document], path: str) -> Iterator[FieldError]:
    for index, toleration in enumerate(tolerations):
        yield from _one_errors(toleration, f"{path}[{index}]")


def _one_errors(toleration: Document, path: str) -> Iterator[FieldError]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    effect, value = toleration.get("effect", ""), toleration.get("value", "")
    if key:
        yield from qualified_name(key, f"{path}.key")
    elif operator != "Exists":
        yield FieldError.invalid(
            f"{path}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all '
            'keys"',
        )
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        yield FieldError.invalid(
            f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    yield from _value_errors(operator or "Equal", value, f"{path}.operator")
    if effect:
        yield from one_of(effect, f"{path}.effect", EFFECTS)


def _value_errors(operator: str, value: str, path: str) -> Iterator[FieldError]:
    match operator:
        case "Equal":
            found = label_value_errors(value)
            if found:
                yield FieldError.invalid(path, value, ";".join(found))
        case "Exists":
            if value:
                yield FieldError.invalid(path, value, "value must be empty for 'Exists'")
        case _:
            yield FieldError.not_supported(path, operator, OPERATORS)


def removed_toleration_errors(
    new: list[Document], old: list[Document], path: str
) -> Iterator[FieldError]:
    """Tolerations may be added; those that exist may only change how long they hold."""
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        yield FieldError.forbidden(
            path, "existing toleration can not be modified except its tolerationSeconds"
        )


def _without_seconds(toleration: Document) -> Document:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}
