"""VolumeSnapshot: of a claim, or of a content that exists already; fixed for life."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.snapshots.custom import (
    exactly_one,
    missing,
    once_set,
    with_status,
)

SOURCES = ("persistentVolumeClaimName", "volumeSnapshotContentName")
NO_EMPTY_CLASS = "volumeSnapshotClassName must not be the empty string when set"


def schema_errors(snapshot: Document) -> Iterator[FieldError]:
    yield from missing(snapshot, "", "spec")
    if "spec" in snapshot:
        yield from missing(snapshot["spec"], "spec", "source")


def rule_errors(new: Document, old: Document | None) -> Iterator[FieldError]:
    spec, before = new["spec"], (old or {}).get("spec", {})
    yield from once_set(spec["source"], before.get("source"), SOURCES, "spec.source")
    yield from exactly_one(spec["source"], (SOURCES[1], SOURCES[0]), "spec.source")
    if spec.get("volumeSnapshotClassName") == "":
        yield FieldError.invalid("spec.volumeSnapshotClassName", "", NO_EMPTY_CLASS)


RULES = with_status(schema_errors, rule_errors)
