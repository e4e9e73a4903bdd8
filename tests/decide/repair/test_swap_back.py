from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import (
    RETAINED_BY,
    ROLLBACK,
    ROLLING_BACK,
    UNUSED_SINCE_MADE,
)
from plimsoll.decide.plan import Delete, Patch
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import (
    Intent,
    IntentState,
    StoredIntent,
    announcement_document,
    lease_document,
    recorded_claim,
)
from plimsoll.decide.repair.swap_back import SwapBackView, leftovers
from plimsoll.decide.rollback.records import RollbackState, rollback_lease
from plimsoll.decide.scheduling.binding.groups import (
    Group,
    GroupedClaim,
    GroupState,
    StoredGroup,
    lease_document as group_document,
)
from tests.builders import DRIVER as MADE_BY, a_claim, a_volume
from tests.decide.rollback.unused import a_record, an_unused_claim, an_unused_volume, with_metadata

DRIVER = "disks.test"
NAME = "pvc-uid-default-data"
SOON = datetime(2030, 1, 1, tzinfo=UTC)


def the_claim(volume: str = "", **annotations: str) -> PersistentVolumeClaim:
    claim = a_claim(volume=volume)
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return msgspec.structs.replace(claim, metadata=metadata)


def an_intent(state: IntentState = IntentState.CALLING, **fields: Any) -> Document:
    claim = recorded_claim(the_claim())
    whole = {"driver": DRIVER, "claim": claim, "volume_name": NAME, "state": state, **fields}
    return lease_document(StoredIntent(intent=Intent(**whole)), "storage")


def a_group(state: GroupState = GroupState.PREPARING) -> Document:
    claim = the_claim()
    group = Group(
        namespace="default",
        pod="web-0",
        pod_uid="pod",
        node="node-a",
        attempt=0,
        deadline=SOON,
        claims=(GroupedClaim(claim.name, claim.uid),),
        state=state,
    )
    return group_document(StoredGroup(group=group), "kube-system")


def recorded_as(handle: str) -> PersistentVolume:
    csi = {"driver": DRIVER, "volumeHandle": handle}
    return from_document(PersistentVolume, {"metadata": {"name": NAME}, "spec": {"csi": csi}})


def a_view(*records: Document, claim: PersistentVolumeClaim | None = None, **fields: Any) -> Any:
    claims = {} if claim is None else {claim.key: claim}
    classes = {"fast": DRIVER, "": DRIVER, the_claim().storage_class: DRIVER}
    whole = {"driver": DRIVER, "records": records, "claims": claims, "provisioners": classes}
    return SwapBackView(**{**whole, **fields})


@pytest.mark.parametrize(
    ("view", "why"),
    [
        pytest.param(
            a_view(an_intent(), volumes=[a_volume(NAME)]), "its volume is recorded", id="recorded"
        ),
        pytest.param(a_view(an_intent(IntentState.UNDONE)), "its claim is gone", id="undone-gone"),
        pytest.param(
            a_view(an_intent(IntentState.UNDONE), claim=the_claim(volume="v")),
            "its claim is bound",
            id="undone-bound",
        ),
        pytest.param(
            a_view(announcement_document(DRIVER, "storage")),
            "schedulers are to hold back no further volumes of this driver",
            id="announced",
        ),
    ],
)
def test_what_nothing_depends_on_any_more_may_be_cleared(view: SwapBackView, why: str) -> None:
    (left,) = leftovers(view)
    assert left.why == why
    assert isinstance(left.clearing, Delete)
    assert left.clearing.key == ObjectKey.of(view.records[0])


def test_a_volume_that_was_given_up_and_is_recorded_all_the_same_clears_its_record() -> None:
    intent = an_intent(IntentState.UNDOING, given_up=True, volume_id="first")
    (left,) = leftovers(a_view(intent, volumes=[recorded_as("first")]))
    assert (left.why, isinstance(left.clearing, Delete)) == ("its volume is recorded", True)


@pytest.mark.parametrize(
    "intent",
    [
        pytest.param(an_intent(IntentState.UNDOING, given_up=True, volume_id="first"), id="undone"),
        pytest.param(an_intent(IntentState.UNDOING, given_up=True), id="not-answered"),
        pytest.param(an_intent(IntentState.SUSPECT, volume_id="first"), id="suspect"),
    ],
)
def test_the_next_volume_of_a_claim_does_not_clear_the_record_of_the_one_before(
    intent: Document,
) -> None:
    (left,) = leftovers(a_view(intent, volumes=[recorded_as("second")]))
    assert left.clearing is None


@pytest.mark.parametrize(
    ("view", "what", "advice"),
    [
        pytest.param(
            a_view(an_intent()), "intent (Calling)", "let plimsoll provisioner run", id="calling"
        ),
        pytest.param(
            a_view(an_intent(IntentState.UNDOING)),
            "intent (Undoing)",
            "let plimsoll provisioner run",
            id="undoing",
        ),
        pytest.param(
            a_view(an_intent(IntentState.UNDONE), claim=the_claim()),
            "intent (Undone)",
            "wait until the claim is bound",
            id="a-name-that-must-not-be-used-again",
        ),
        pytest.param(
            a_view(an_intent(IntentState.SUSPECT, volume_id="vol-7")),
            "intent (Suspect)",
            "look at volume vol-7",
            id="suspect",
        ),
        pytest.param(
            a_view(an_intent(node="node-a"), nodes={"node-b"}),
            "intent (Orphaned)",
            "node node-a is gone",
            id="orphaned",
        ),
        pytest.param(
            a_view(a_group(), claim=the_claim()),
            "group (Preparing)",
            "let plimsoll scheduler run",
            id="group",
        ),
        pytest.param(
            a_view(claim=the_claim(**{HOLD: "pod/0/make"})),
            "hold",
            "let plimsoll scheduler take it off",
            id="hold",
        ),
    ],
)
def test_what_is_outstanding_is_named_with_what_to_do(
    view: SwapBackView, what: str, advice: str
) -> None:
    (left,) = leftovers(view)
    assert (left.what, left.clearing) == (what, None)
    assert left.why.startswith(advice) or advice in left.why


def unreadable(lease: Document) -> Document:
    return {**lease, "metadata": {**lease["metadata"], "annotations": {}}}


def test_a_record_that_cannot_be_read_is_never_cleared() -> None:
    view = a_view(unreadable(an_intent()), unreadable(a_group()))
    assert [(left.what, left.clearing) for left in leftovers(view)] == [
        ("group (unreadable)", None),
        ("intent (unreadable)", None),
    ]


OTHER: dict[str, Any] = {"driver": "another.test", "provisioners": {}}


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(a_view(an_intent(), **OTHER), id="intent"),
        pytest.param(a_view(unreadable(an_intent()), **OTHER), id="unreadable-intent"),
        pytest.param(a_view(a_group(), claim=the_claim(), **OTHER), id="group"),
        pytest.param(a_view(announcement_document(DRIVER, "storage"), **OTHER), id="announcement"),
        pytest.param(a_view(claim=the_claim(**{HOLD: "pod/0/make"}), **OTHER), id="hold"),
    ],
)
def test_what_concerns_another_driver_is_in_no_way(view: SwapBackView) -> None:
    assert leftovers(view) == []


def test_a_group_that_is_undone_and_a_hold_on_a_bound_claim_are_in_no_way() -> None:
    bound = the_claim(volume="v", **{HOLD: "pod/0/make"})
    assert leftovers(a_view(a_group(GroupState.UNDONE), claim=the_claim())) == []
    assert leftovers(a_view(claim=bound)) == []


# Rollbacks of unused volumes


def a_rollback(state: RollbackState) -> Document:
    return rollback_lease(a_record(state=state), "kube-system", {})


def of_maker(*records: Document, **fields: Any) -> SwapBackView:
    """Of the driver that made the volumes."""
    claim = an_unused_claim()
    return SwapBackView(
        **{
            "driver": MADE_BY,
            "records": records,
            "provisioners": {claim.storage_class: MADE_BY},
            **fields,
        }
    )


RETAINED = with_metadata(
    an_unused_volume(), annotations={RETAINED_BY: "x"}, finalizers=("theirs", ROLLBACK)
)
MARKED_CLAIM = with_metadata(an_unused_claim(), annotations={ROLLING_BACK: "x"})
MARKED_VOLUME = with_metadata(an_unused_volume(), annotations={UNUSED_SINCE_MADE: "watch"})


@pytest.mark.parametrize(
    ("state", "advice"),
    [
        (RollbackState.RETAINING, "let plimsoll controller run with --rollback on"),
        (RollbackState.RELEASING, "let plimsoll controller run with --rollback on"),
        (RollbackState.DELETING, "let plimsoll controller run with --rollback on"),
        (RollbackState.KEPT, "a pod may have used volume"),
    ],
)
def test_a_rollback_that_is_under_way_is_outstanding_with_all_that_it_has_marked(
    state: RollbackState, advice: str
) -> None:
    view = of_maker(a_rollback(state), volumes=[RETAINED], claims={MARKED_CLAIM.key: MARKED_CLAIM})
    (left,) = leftovers(view)
    assert (left.what, left.clearing) == (f"rollback ({state})", None)
    assert left.why.startswith(advice)


def test_marks_of_a_rollback_without_a_record_are_left_to_a_person() -> None:
    view = of_maker(volumes=[RETAINED], claims={MARKED_CLAIM.key: MARKED_CLAIM})
    found = leftovers(view)
    assert [left.what for left in found] == ["mark of a rollback", "volume of a rollback"]
    assert [left.clearing for left in found] == [None, None]
    assert all("by hand" in left.why for left in found)


def test_the_mark_of_a_volume_that_no_pod_has_used_may_be_cleared() -> None:
    (left,) = leftovers(of_maker(volumes=[MARKED_VOLUME]))
    assert left.what == "mark of an unused volume"
    assert isinstance(left.clearing, Patch)
    assert left.clearing.patch == {"metadata": {"annotations": {UNUSED_SINCE_MADE: None}}}
    assert left.clearing.version == MARKED_VOLUME.metadata.resource_version


def test_a_mark_that_a_rollback_goes_by_stays() -> None:
    view = of_maker(a_rollback(RollbackState.RETAINING), volumes=[MARKED_VOLUME])
    assert [left.what for left in leftovers(view)] == ["rollback (Retaining)"]


def test_rollbacks_of_another_driver_are_in_no_way() -> None:
    records = [a_rollback(RollbackState.KEPT), unreadable(a_rollback(RollbackState.KEPT))]
    marked = {"volumes": [RETAINED, MARKED_VOLUME], "claims": {MARKED_CLAIM.key: MARKED_CLAIM}}
    assert leftovers(of_maker(*records, **{**OTHER, **marked})) == []


def test_a_record_of_a_rollback_that_cannot_be_read_is_never_cleared() -> None:
    (left,) = leftovers(of_maker(unreadable(a_rollback(RollbackState.KEPT))))
    assert (left.what, left.clearing) == ("rollback (unreadable)", None)
