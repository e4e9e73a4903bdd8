"""The rules of a custom kind, in the shape that every kind of the server has them in."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.cel.rules import RuleChecks
from plimsoll.apiserver.model.custom.checking import schema_errors
from plimsoll.apiserver.model.custom.embedded import embedded_errors
from plimsoll.apiserver.model.custom.json_paths import find_value
from plimsoll.apiserver.model.custom.list_types import duplicate_errors
from plimsoll.apiserver.model.custom.nodes import MISSING, SchemaNode
from plimsoll.apiserver.model.custom.values.numbers import shown_number
from plimsoll.apiserver.model.field_errors import ErrorType, FieldError
from plimsoll.apiserver.model.kinds.object_meta import keep_meta
from plimsoll.apiserver.model.kinds.rules import (
    KindRules,
    keep_all_but_status,
    keep_status,
    leave_update,
)
from plimsoll.apiserver.model.ownership.reset_fields import METADATA

NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_BLOCKING = (
    ErrorType.REQUIRED,
    ErrorType.TOO_LONG,
    ErrorType.TOO_MANY,
    ErrorType.TYPE_INVALID,
    ErrorType.NOT_SUPPORTED,
)
"""Complaints after which rules are not evaluated: they could not be relied upon."""


def without_status(document: Document, _now: datetime) -> None:
    document.pop("status", None)


def prepare_status(new: Document, old: Document, now: datetime) -> None:
    """The status endpoint takes nothing of the metadata but the version it is checked against."""
    keep_all_but_status(new, old, now)
    keep_meta(new.setdefault("metadata", {}), old.get("metadata") or {}, METADATA)


def _nothing(_document: Document, _now: datetime) -> None:
    """Change nothing."""


class CustomRules:
    def __init__(
        self,
        node: SchemaNode,
        has_status: bool,  # noqa: FBT001 one of two kinds of definitions
        scale: Document | None,
        selectable: list[str],
    ) -> None:
        self._node = node
        self._scale = scale
        self._selectable = selectable
        self._checks = RuleChecks(node)
        self.rules = KindRules(
            prepare_create=without_status if has_status else _nothing,
            prepare_update=keep_status if has_status else leave_update,
            prepare_status=prepare_status,
            validate=partial(self._errors, old=None),
            validate_update=self._errors,
            validate_status=self._errors,
            selectable_fields=self._fields,
            has_generation=True,
            counts_status=not has_status,
            unconditional_update=False,
            plain_finalizers=True,
            is_custom=True,
        )

    def _errors(self, new: Document, old: Document | None) -> Iterator[FieldError]:
        before: Any = MISSING if old is None else _content(old)
        found = [
            *schema_errors(self._node, _content(new), before),
            *self._scale_errors(new),
            *embedded_errors(self._node, new),
            *self._list_errors(new, old),
        ]
        yield from found
        if not self._node.has_rules:
            return
        if any(error.type in _BLOCKING for error in found):
            yield FieldError.invalid("<nil>", None, NOT_CHECKED)
        else:
            yield from self._checks.errors(new, old)

    def _list_errors(self, new: Document, old: Document | None) -> list[FieldError]:
        """Of an object that had such errors already, none: it may be changed all the same."""
        found = list(duplicate_errors(self._node, new))
        if found and old is not None and any(duplicate_errors(self._node, old)):
            return []
        return found

    def _scale_errors(self, document: Document) -> Iterator[FieldError]:
        """The numbers that the scale subresource shows must be such that it can."""
        if self._scale is None:
            return
        for name in ("specReplicasPath", "statusReplicasPath"):
            path = self._scale.get(name, "")
            value = find_value(path, document)
            if isinstance(value, int) and value < 0:
                yield FieldError.invalid(path, value, "should be a non-negative integer")

    def _fields(self, document: Document) -> dict[str, str]:
        return {path.lstrip("."): _text(find_value(path, document)) for path in self._selectable}


def _content(document: Document) -> Document:
    """What the schema is about: metadata is checked as all metadata is."""
    return {name: value for name, value in document.items() if name != "metadata"}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else shown_number(value)
