"""What is collected, how, and what never is."""

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.meta import ObjectKey, ObjectMeta, OwnerReference
from plimsoll.decide.cluster.garbage import (
    Examined,
    GarbageReason,
    GarbageVerdict,
    decide_garbage,
    decide_orphaning,
    decide_waiting_owner,
    verdict_on_owner,
)
from plimsoll.decide.cluster.ownership_graph import (
    FOREGROUND,
    ORPHAN,
    Attention,
    GraphObject,
    OwnershipGraph,
)
from plimsoll.decide.plan import NOTHING, Delete, Patch, Plan, ResourceName

MAPS = ResourceName("", "v1", "configmaps")
AT = datetime(2024, 1, 1, tzinfo=UTC)


def ref(uid: str, *, block: bool = True) -> OwnerReference:
    return OwnerReference(
        api_version="v1", kind="ConfigMap", name=uid, uid=uid, block_owner_deletion=block
    )


def meta(
    name: str, *owners: OwnerReference, finalizers: tuple[str, ...] = (), deleted: bool = False
) -> ObjectMeta:
    return ObjectMeta(
        name=name,
        namespace="default",
        uid=name,
        resource_version="5",
        owner_references=owners,
        finalizers=finalizers,
        deletion_timestamp=AT if deleted else None,
    )


def examined(metadata: ObjectMeta) -> Examined:
    return Examined(resource=MAPS, metadata=metadata)


def known(metadata: ObjectMeta) -> GraphObject:
    return GraphObject.of("v1", "ConfigMap", metadata)


@pytest.mark.parametrize(
    ("owner", "verdict"),
    [
        pytest.param(None, GarbageVerdict.ABSENT, id="not-there"),
        pytest.param(ObjectMeta(uid="other"), GarbageVerdict.ABSENT, id="a-namesake"),
        pytest.param(meta("owner"), GarbageVerdict.SOLID, id="there"),
        pytest.param(
            meta("owner", deleted=True), GarbageVerdict.SOLID, id="there-but-being-deleted"
        ),
        pytest.param(
            meta("owner", deleted=True, finalizers=(FOREGROUND,)),
            GarbageVerdict.AWAITING,
            id="waiting",
        ),
        pytest.param(
            meta("owner", finalizers=(FOREGROUND,)),
            GarbageVerdict.SOLID,
            id="marked-but-not-deleted",
        ),
    ],
)
def test_what_is_said_of_an_owner(owner: ObjectMeta | None, verdict: GarbageVerdict) -> None:
    assert verdict_on_owner(ref("owner"), owner) is verdict


@pytest.mark.parametrize(
    ("finalizers", "policy"),
    [((), "Background"), ((ORPHAN,), "Orphan"), ((FOREGROUND,), "Foreground")],
)
def test_an_object_without_owners_left_is_deleted_as_it_was_seen(
    finalizers: tuple[str, ...], policy: str
) -> None:
    item = examined(meta("item", ref("a"), finalizers=finalizers))
    plan = decide_garbage(item, [GarbageVerdict.ABSENT], [])
    assert plan.reason == GarbageReason.COLLECTED
    assert plan.writes == (
        Delete(resource=MAPS, key=item.key, uid="item", version="5", propagation=policy),
    )


def test_an_object_without_references_is_never_garbage() -> None:
    assert decide_garbage(examined(meta("item")), [], []) is NOTHING


def test_an_object_whose_owner_cannot_be_looked_up_is_left_alone() -> None:
    item = examined(meta("item", ref("a"), ref("b")))
    assert decide_garbage(item, [GarbageVerdict.ABSENT, GarbageVerdict.IMPOSSIBLE], []) is NOTHING


def test_references_to_owners_that_are_gone_or_waiting_are_removed() -> None:
    item = examined(meta("item", ref("gone"), ref("here"), ref("waiting")))
    verdicts = [GarbageVerdict.ABSENT, GarbageVerdict.SOLID, GarbageVerdict.AWAITING]
    (patch,) = decide_garbage(item, verdicts, []).writes
    assert isinstance(patch, Patch)
    assert patch.version == "5"
    assert [r["name"] for r in patch.patch["metadata"]["ownerReferences"]] == ["here"]


def test_an_awaited_object_with_dependents_waits_for_them_in_turn() -> None:
    item = examined(meta("item", ref("owner")))
    plan = decide_garbage(item, [GarbageVerdict.AWAITING], [known(meta("x", ref("item")))])
    assert plan.reason == GarbageReason.COLLECTED_FIRST
    assert [w.propagation for w in plan.writes if isinstance(w, Delete)] == ["Foreground"]


def test_an_awaited_object_without_dependents_simply_goes() -> None:
    item = examined(meta("item", ref("owner")))
    (delete,) = decide_garbage(item, [GarbageVerdict.AWAITING], []).writes
    assert isinstance(delete, Delete)
    assert delete.propagation == "Background"


def test_a_circle_of_waiting_owners_is_broken() -> None:
    item = examined(meta("item", ref("owner")))
    waiting = known(meta("x", ref("item"), finalizers=(FOREGROUND,), deleted=True))
    patch, delete = decide_garbage(item, [GarbageVerdict.AWAITING], [waiting]).writes
    assert isinstance(patch, Patch)
    assert isinstance(delete, Delete)
    assert patch.patch["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] is False
    assert (delete.uid, delete.propagation) == ("item", "Foreground")


def test_an_owner_waits_for_those_that_block_it_and_then_loses_its_finalizer() -> None:
    owner = examined(meta("owner", finalizers=("x/y", FOREGROUND), deleted=True))
    child = known(meta("child", ref("owner")))
    assert decide_waiting_owner(owner, [child]).wake == (ObjectKey("", "child"),)
    (patch,) = decide_waiting_owner(owner, []).writes
    assert isinstance(patch, Patch)
    assert patch.patch == {"metadata": {"finalizers": ["x/y"]}}


def test_an_owner_goes_without_its_dependents_only_after_all_have_forgotten_it() -> None:
    owner = examined(meta("owner", finalizers=(ORPHAN,), deleted=True))
    a, b = known(meta("a", ref("owner"))), known(meta("b", ref("owner"), ref("other")))
    plan = decide_orphaning(owner, [(MAPS, a), (MAPS, b)])
    patches = [w for w in plan.writes if isinstance(w, Patch)]
    assert [p.key.name for p in patches] == ["a", "b", "owner"]
    assert patches[0].patch == {"metadata": {"ownerReferences": None}}
    assert [r["uid"] for r in patches[1].patch["metadata"]["ownerReferences"]] == ["other"]
    assert patches[2].patch == {"metadata": {"finalizers": []}}


@dataclass
class Model:
    """A server without any lag, and a collector that looks only where the graph tells it to."""

    objects: dict[str, ObjectMeta] = field(default_factory=dict)
    graph: OwnershipGraph = field(default_factory=OwnershipGraph)
    queue: deque[str] = field(default_factory=deque)
    deleted_with_solid_owner: list[str] = field(default_factory=list)

    def put(self, metadata: ObjectMeta) -> None:
        if metadata.deletion_timestamp is not None and not metadata.finalizers:
            self.objects.pop(metadata.uid, None)
            self.attend(self.graph.remove(metadata.uid))
            return
        self.objects[metadata.uid] = metadata
        self.attend(self.graph.put(known(metadata)))

    def attend(self, attention: Attention) -> None:
        self.queue.extend(attention.examine)

    def delete(self, uid: str, propagation: str) -> None:
        marks = {"Foreground": FOREGROUND, "Orphan": ORPHAN}
        now = self.objects[uid]
        kept = tuple(f for f in now.finalizers if f not in (FOREGROUND, ORPHAN))
        mark = marks.get(propagation)
        self.put(
            msgspec.structs.replace(
                now, deletion_timestamp=AT, finalizers=(*kept, mark) if mark else kept
            )
        )

    def run(self) -> None:
        for _ in range(500):
            if not self.queue:
                return
            uid = self.queue.popleft()
            if uid in self.objects and not self.graph.is_settled(uid):
                self.enact(self.decide(uid))
        raise AssertionError("the collector does not come to rest")

    def decide(self, uid: str) -> Plan:
        item = examined(self.objects[uid])
        now = known(item.metadata)
        if now.releases_dependents:
            return decide_orphaning(item, [(MAPS, d) for d in self.graph.dependents(uid)])
        if now.awaits_dependents:
            return decide_waiting_owner(item, self.graph.blocking(uid))
        if now.is_being_deleted:
            return NOTHING
        references = item.metadata.owner_references
        verdicts = [verdict_on_owner(r, self.objects.get(r.uid)) for r in references]
        plan = decide_garbage(item, verdicts, self.graph.dependents(uid))
        if GarbageVerdict.SOLID in verdicts and any(isinstance(w, Delete) for w in plan.writes):
            self.deleted_with_solid_owner.append(uid)
        return plan

    def enact(self, plan: Plan) -> None:
        for write in plan.writes:
            if isinstance(write, Patch):
                self.patch(write)
            elif isinstance(write, Delete) and write.key.name in self.objects:
                self.delete(write.key.name, write.propagation)
        self.queue.extend(key.name for key in plan.wake)

    def patch(self, write: Patch) -> None:
        now = self.objects.get(write.key.name)
        if now is None:
            return
        changes = write.patch["metadata"]
        if "finalizers" in changes:
            now = msgspec.structs.replace(now, finalizers=tuple(changes["finalizers"]))
        if "ownerReferences" in changes:
            refs = msgspec.convert(changes["ownerReferences"] or [], tuple[OwnerReference, ...])
            now = msgspec.structs.replace(now, owner_references=refs)
        self.put(now)


NAMES = [f"o{number}" for number in range(6)]
OWNERS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=2, unique_by=lambda pair: pair[0]
)


@given(
    family=st.lists(OWNERS, min_size=len(NAMES), max_size=len(NAMES)),
    deletions=st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(["Background", "Foreground", "Orphan"])),
        max_size=3,
    ),
)
def test_in_the_end_exactly_those_without_an_owner_left_are_gone(
    family: list[list[tuple[str, bool]]], deletions: list[tuple[str, str]]
) -> None:
    """Whatever owns whatever, circles included: the collector comes to rest, deletes nothing that
    has an owner, and leaves nothing whose owners are all gone."""
    model = Model()
    for name, owners in zip(NAMES, family, strict=True):
        model.put(meta(name, *(ref(owner, block=block) for owner, block in owners)))
    for name, propagation in deletions:
        model.run()
        if name in model.objects:
            model.delete(name, propagation)
    model.run()
    assert model.deleted_with_solid_owner == []
    for metadata in model.objects.values():
        references = metadata.owner_references
        assert not references or any(r.uid in model.objects for r in references)
        assert metadata.deletion_timestamp is None
