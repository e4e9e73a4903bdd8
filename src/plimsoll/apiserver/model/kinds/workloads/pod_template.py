"""PodTemplate: a template of its own, for clients that keep them."""

from collections.abc import Iterable

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.defaults import default_template
from plimsoll.apiserver.model.kinds.pods.spec import template_errors
from plimsoll.apiserver.model.kinds.pods.values import distinct
from plimsoll.apiserver.model.kinds.pods.warnings import template_warnings
from plimsoll.apiserver.model.kinds.rules import KindRules


def default(document: Document) -> None:
    default_template(document.setdefault("template", {}))


def validate(document: Document) -> Iterable[FieldError]:
    return distinct(template_errors(document.get("template") or {}, "template"))


def validate_update(new: Document, _old: Document) -> Iterable[FieldError]:
    return validate(new)


def warnings(new: Document, old: Document | None) -> list[str]:
    if old is not None and new.get("template") == old.get("template"):
        return []
    return template_warnings(new.get("template") or {}, "template")


RULES = KindRules(
    default=default,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    has_generation=True,
    returns_deleted=True,
)
