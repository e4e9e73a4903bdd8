"""VolumeSnapshotClass: which driver takes snapshots, and what becomes of them."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.snapshots.custom import missing, policy_errors


def validate(snapshot_class: Document) -> Iterator[FieldError]:
    yield from missing(snapshot_class, "", "deletionPolicy", "driver")
    yield from policy_errors(snapshot_class, "deletionPolicy")


def validate_update(new: Document, _old: Document) -> Iterator[FieldError]:
    yield from validate(new)


RULES = KindRules(
    validate=validate,
    validate_update=validate_update,
    has_generation=True,
    unconditional_update=False,
    is_custom=True,
)
