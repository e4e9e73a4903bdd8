import pytest

from plimsoll.api.meta import OwnerReference
from plimsoll.api.workloads import StatefulSet
from plimsoll.decide.plan import Emit, Patch
from plimsoll.decide.workloads.owned import POD, STATEFUL_SET
from plimsoll.decide.workloads.stateful_set.claim_retention import (
    Holder,
    conflict_warnings,
    decide_claim_owner,
    is_stale,
    owners_of_new_claim,
)
from tests.decide.workloads.objects import a_claim, a_stateful_pod, a_stateful_set, owned_by

STRANGER = OwnerReference(
    api_version="example.com/v1", kind="Backup", name="b", uid="b", controller=True
)
STALE_POD = OwnerReference(api_version="v1", kind="Pod", name="web-0", uid="old", controller=True)


def a_set(when_scaled: str, when_deleted: str) -> StatefulSet:
    policy = {"whenScaled": when_scaled, "whenDeleted": when_deleted}
    return a_stateful_set(persistentVolumeClaimRetentionPolicy=policy)


def owners_after(set_: StatefulSet, *before: OwnerReference, condemned: bool) -> list[str] | None:
    """Kinds of the owners that are written; None if they are left alone."""
    pod = a_stateful_pod(set_, 0, "r")
    writes = decide_claim_owner(
        set_, a_claim("data-web-0", *before), Holder(pod=pod, is_condemned=condemned)
    )
    patches = [write for write in writes if isinstance(write, Patch)]
    if not patches:
        return None
    return [owner["kind"] for owner in patches[0].patch["metadata"]["ownerReferences"]]


@pytest.mark.parametrize(
    ("when_scaled", "when_deleted", "in_range", "condemned"),
    [
        ("Retain", "Retain", None, None),
        ("Retain", "Delete", ["StatefulSet"], ["StatefulSet"]),
        ("Delete", "Retain", None, ["Pod"]),
        ("Delete", "Delete", ["StatefulSet"], ["Pod"]),
    ],
)
def test_the_owner_of_a_claim_follows_the_policy(
    when_scaled: str,
    when_deleted: str,
    in_range: list[str] | None,
    condemned: list[str] | None,
) -> None:
    set_ = a_set(when_scaled, when_deleted)
    assert owners_after(set_, condemned=False) == in_range
    assert owners_after(set_, condemned=True) == condemned


def test_a_pod_that_is_wanted_again_gives_its_claim_back() -> None:
    set_ = a_set("Delete", "Delete")
    pod = a_stateful_pod(set_, 0, "r")
    assert owners_after(set_, *owned_by(POD, pod), condemned=False) == ["StatefulSet"]
    assert owners_after(a_set("Delete", "Retain"), *owned_by(POD, pod), condemned=False) == []


def test_what_is_right_is_left_alone() -> None:
    set_ = a_set("Delete", "Delete")
    assert owners_after(set_, *owned_by(STATEFUL_SET, set_), condemned=False) is None


def test_an_owner_that_is_no_controller_is_made_one() -> None:
    set_ = a_set("Retain", "Delete")
    weak = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="web", uid="uid-web")
    assert owners_after(set_, weak, condemned=False) == ["StatefulSet"]


def test_a_claim_of_another_owner_is_not_touched_and_the_user_is_told() -> None:
    set_ = a_set("Delete", "Delete")
    assert owners_after(set_, STRANGER, condemned=True) is None
    ours = owned_by(STATEFUL_SET, set_)
    weak = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="web", uid=ours[0].uid)
    assert owners_after(set_, STRANGER, weak, condemned=True) == ["Backup"]
    holder = Holder(pod=a_stateful_pod(set_, 0, "r"), is_condemned=False)
    (event,) = conflict_warnings(set_, [a_claim("data-web-0", STRANGER)], holder)
    assert isinstance(event, Emit)
    assert event.reason == "ConflictingController"
    assert conflict_warnings(a_set("Retain", "Retain"), [a_claim("d", STRANGER)], holder) == []


def test_what_an_earlier_pod_of_the_name_owned_is_left_to_the_garbage_collector() -> None:
    set_ = a_set("Delete", "Delete")
    assert owners_after(set_, STALE_POD, condemned=False) is None
    pod = a_stateful_pod(set_, 0, "r")
    assert is_stale(set_, a_claim("data-web-0", STALE_POD), pod)
    assert not is_stale(set_, a_claim("data-web-0", *owned_by(POD, pod)), pod)
    assert not is_stale(a_set("Retain", "Delete"), a_claim("data-web-0", STALE_POD), pod)


def test_a_new_claim_belongs_to_the_set_if_it_is_to_go_with_it() -> None:
    assert owners_of_new_claim(a_set("Retain", "Retain")) == ()
    set_ = a_set("Delete", "Delete")
    assert owners_of_new_claim(set_) == owned_by(STATEFUL_SET, set_)
