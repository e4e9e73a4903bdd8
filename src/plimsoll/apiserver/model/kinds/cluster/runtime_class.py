"""Runtime classes: which handler on the node runs a pod, and what that costs."""

from collections.abc import Iterator

from plimsoll.api.names import dns_label_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import IMMUTABLE, label_errors
from plimsoll.apiserver.model.kinds.repetition import repeated
from plimsoll.apiserver.model.kinds.resource_names import (
    amount_errors,
    container_name_errors,
)
from plimsoll.apiserver.model.kinds.rules import KindRules


def validate(runtime: Document) -> Iterator[FieldError]:
    handler = runtime.get("handler", "")
    if not handler:
        yield FieldError.required("handler")
    else:
        for error in dns_label_errors(handler):
            yield FieldError.invalid("handler", handler, error)
    for resource, amount in runtime.get("overhead", {}).get("podFixed", {}).items():
        path = f"overhead.limits[{resource}]"
        yield from container_name_errors(resource, path)
        yield from amount_errors(resource, amount, path)
    scheduling = runtime.get("scheduling", {})
    yield from label_errors(scheduling.get("nodeSelector", {}), "scheduling.nodeSelector")
    for index, toleration in repeated(scheduling.get("tolerations", [])):
        yield FieldError.duplicate(f"scheduling.tolerations[{index}]", toleration)


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    if new.get("handler") != old.get("handler"):
        yield FieldError.invalid("handler", new.get("handler"), IMMUTABLE)


RULES = KindRules(
    validate=validate,
    validate_update=validate_update,
    unconditional_update=False,
    create_on_update=True,
    name_checked_on_update=True,
)
