"""PriorityClass: a name for how important pods are."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.spec import PREEMPTION_POLICIES
from plimsoll.apiserver.model.kinds.pods.values import required_one_of
from plimsoll.apiserver.model.kinds.rules import KindRules

SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
HIGHEST_USER_PRIORITY = 1_000_000_000


def default(document: Document) -> None:
    document.setdefault("preemptionPolicy", "PreemptLowerPriority")


def validate(document: Document) -> Iterator[FieldError]:
    name, value = (document.get("metadata") or {}).get("name", ""), document.get("value", 0)
    if name.startswith(SYSTEM_PREFIX):
        if SYSTEM_CLASSES.get(name) != value or document.get("globalDefault"):
            yield FieldError.forbidden(
                "metadata.name", f"names with '{SYSTEM_PREFIX}' are reserved for system use only"
            )
    elif value > HIGHEST_USER_PRIORITY:
        yield FieldError.forbidden(
            "value", f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        )
    if "preemptionPolicy" in document:
        yield from required_one_of(
            document["preemptionPolicy"], "preemptionPolicy", PREEMPTION_POLICIES
        )


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    if new.get("value", 0) != old.get("value", 0):
        yield FieldError.forbidden("value", "may not be changed in an update.")
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        yield FieldError.invalid(
            "preemptionPolicy", new.get("preemptionPolicy"), "field is immutable"
        )


RULES = KindRules(
    default=default,
    validate=validate,
    validate_update=validate_update,
    has_generation=True,
    generation_stays=True,
)
