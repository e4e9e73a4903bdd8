from typing import Any

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.snapshots import VolumeSnapshot
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.plan import NOTHING, Patch, Plan
from plimsoll.decide.provisioning.protection import (
    SourceProtectionReason,
    decide_cloned_claim,
    decide_sweep,
    protect,
    release_snapshot,
)
from plimsoll.decide.provisioning.request.sources import (
    CLONE_PROTECTION,
    SNAPSHOT_GROUP,
    SNAPSHOT_PROTECTION,
    ResolvedSource,
    SourceKind,
)
from tests.decide.provisioning.builders import CLAIM, a_claim_document, a_world
from tests.decide.provisioning.world import SNAPSHOTS

SNAPSHOT = ObjectKey("default", "snap")
FROM_SNAPSHOT = {"apiGroup": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": "snap"}
FROM_CLAIM = {"kind": "PersistentVolumeClaim", "name": "data"}


def a_snapshot(*finalizers: str) -> dict[str, Any]:
    metadata = {"namespace": "default", "name": "snap", "finalizers": list(finalizers)}
    return {"metadata": metadata | {"resourceVersion": "3"}}


def a_claim(phase: str = "Pending", **spec: Any) -> PersistentVolumeClaim:
    return from_document(
        PersistentVolumeClaim, a_claim_document(**spec) | {"status": {"phase": phase}}
    )


def finalizers(plan: Plan | Patch | None) -> list[str] | None:
    write = plan.writes[0] if isinstance(plan, Plan) else plan
    assert isinstance(write, Patch)
    left: list[str] | None = write.patch["metadata"]["finalizers"]
    return left


def test_a_source_is_marked_once() -> None:
    world = a_world()
    world.add(SNAPSHOTS, a_snapshot("other"))
    claim, snapshot = (
        ResolvedSource(SourceKind.CLAIM, CLAIM),
        ResolvedSource(SourceKind.SNAPSHOT, SNAPSHOT),
    )

    assert finalizers(protect(claim, world)) == [CLONE_PROTECTION]
    mark = protect(snapshot, world)
    assert finalizers(mark) == ["other", SNAPSHOT_PROTECTION]
    assert mark is not None
    assert mark.version == "3"
    world.add(SNAPSHOTS, a_snapshot(SNAPSHOT_PROTECTION))
    assert protect(snapshot, world) is None
    assert protect(None, world) is None


def test_a_snapshot_is_free_as_soon_as_the_volume_is_made() -> None:
    world = a_world()
    world.add(SNAPSHOTS, a_snapshot(SNAPSHOT_PROTECTION, "other"))

    assert finalizers(release_snapshot(a_claim(dataSource=FROM_SNAPSHOT), world)) == ["other"]
    assert release_snapshot(a_claim(), world) is None


@pytest.mark.parametrize("field", ["dataSource", "dataSourceRef"])
def test_a_cloned_claim_is_kept_until_its_clones_are_made(field: str) -> None:
    document = a_claim_document()
    document["metadata"] |= {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["other", CLONE_PROTECTION],
    }
    source = from_document(PersistentVolumeClaim, document)
    pending, bound = (a_claim(phase, **{field: FROM_CLAIM}) for phase in ("Pending", "Bound"))

    assert decide_cloned_claim(source, [pending]) == Plan(reason=SourceProtectionReason.CLONING)
    assert finalizers(decide_cloned_claim(source, [bound])) == ["other"]


def test_a_claim_that_is_not_deleted_keeps_its_mark() -> None:
    assert decide_cloned_claim(a_claim(), []) == NOTHING


def test_the_sweep_frees_snapshots_that_no_unfinished_claim_needs() -> None:
    marked = from_document(VolumeSnapshot, a_snapshot(SNAPSHOT_PROTECTION))
    unmarked = from_document(VolumeSnapshot, a_snapshot("other"))

    assert finalizers(decide_sweep([marked], [a_claim("Bound", dataSource=FROM_SNAPSHOT)])) is None
    for phase in ("", "Pending"):
        assert decide_sweep([marked], [a_claim(phase, dataSource=FROM_SNAPSHOT)]) == NOTHING
        assert decide_sweep([marked], [a_claim(phase, dataSourceRef=FROM_SNAPSHOT)]) == NOTHING
    assert decide_sweep([unmarked], []) == NOTHING
