"""VolumeSnapshotContent: what a driver has, or is to make, for one VolumeSnapshot."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.snapshots.custom import (
    exactly_one,
    missing,
    once_set,
    policy_errors,
    with_status,
)

SOURCES = ("volumeHandle", "snapshotHandle")
BOTH_NAMES = "both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace must be set"


def schema_errors(content: Document) -> Iterator[FieldError]:
    yield from missing(content, "", "spec")
    spec = content.get("spec")
    if spec is not None:
        yield from missing(spec, "spec", "deletionPolicy", "driver", "source", "volumeSnapshotRef")
        yield from policy_errors(spec, "spec.deletionPolicy")


def rule_errors(new: Document, old: Document | None) -> Iterator[FieldError]:
    spec, before = new["spec"], (old or {}).get("spec", {})
    yield from once_set(spec["source"], before.get("source"), SOURCES, "spec.source")
    yield from exactly_one(spec["source"], SOURCES, "spec.source")
    yield from once_set(spec, before, ("sourceVolumeMode",), "spec")
    reference = spec["volumeSnapshotRef"]
    if "name" not in reference or "namespace" not in reference:
        yield FieldError.broken_rule("spec.volumeSnapshotRef", BOTH_NAMES)
    size = (new.get("status") or {}).get("restoreSize", 0)
    if size < 0:
        said = "restoreSize in body should be greater than or equal to 0"
        yield FieldError.invalid("status.restoreSize", size, said)


RULES = with_status(schema_errors, rule_errors)
