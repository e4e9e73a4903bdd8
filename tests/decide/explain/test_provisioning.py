"""What keeps a claim from its volume, and what does not."""

from dataclasses import replace

import pytest

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE, STORAGE_PROVISIONER
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.explain.groups import SharedTrouble
from plimsoll.decide.explain.provisioning import provisioning_code, provisioning_troubles
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.reasons import Reason
from tests.builders import DRIVER, HOSTNAME, a_claim, a_class, a_node, a_volume
from tests.decide.explain.witnesses import MINUTE, NOW, SECOND, a_lease, an_event
from tests.decide.scheduling.builders import annotated, bound

HANDED_OVER = annotated(a_claim(), {SELECTED_NODE: "node-1", STORAGE_PROVISIONER: DRIVER})
KEY = ObjectKey("default", "data")
NOTHING_READ = Evidence(now=NOW)
NOTHING_SAID = Evidence(now=NOW, events=(), leases=())


def troubles(
    claim: PersistentVolumeClaim, evidence: Evidence, *objects: ApiObject
) -> list[SharedTrouble]:
    columns = Columns.of([a_node(), a_class(), claim, *objects])
    return [*provisioning_troubles(claim, columns, evidence)]


def codes(claim: PersistentVolumeClaim, evidence: Evidence, *objects: ApiObject) -> list[Reason]:
    return [trouble.reason for trouble in troubles(claim, evidence, *objects)]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("rpc error: code = ResourceExhausted desc = full", Reason.PROVISIONER_REFUSED),
        ("rpc error: code = InvalidArgument desc = no such mode", Reason.PROVISIONER_REFUSED),
        ("rpc error: code = OutOfRange desc = too large", Reason.PROVISIONER_REFUSED),
        (
            "error generating accessibility requirements: no topology key found on CSINode a",
            Reason.PROVISIONER_REFUSED,
        ),
        ("rpc error: code = DeadlineExceeded desc = late", Reason.PROVISIONING_FAILED),
        ("rpc error: code = Unavailable desc = away", Reason.PROVISIONING_FAILED),
        ("rpc error: code = Internal desc = oops", Reason.PROVISIONING_FAILED),
        ("error getting handle for DataSource", Reason.PROVISIONING_FAILED),
    ],
)
def test_a_final_answer_is_a_refusal_and_any_other_a_failure(message: str, code: Reason) -> None:
    assert provisioning_code(message) is code


def test_failures_that_say_the_same_are_told_once_the_newest_first() -> None:
    events = (
        an_event(HANDED_OVER, "ProvisioningFailed", "older", age=2 * MINUTE),
        an_event(HANDED_OVER, "ProvisioningFailed", "newer", age=MINUTE),
        an_event(HANDED_OVER, "ProvisioningFailed", "newer", age=SECOND),
    )
    found = troubles(HANDED_OVER, replace(NOTHING_SAID, events=events))
    assert [trouble.sentence for trouble in found] == ["newer", "older"]
    seen = found[0].occurrences
    assert seen is not None
    assert (seen.count, seen.last_at) == (3, NOW - SECOND)


def test_a_bound_claim_has_no_troubles_whatever_its_events_say() -> None:
    claim = bound(a_claim(), "volume-1")
    events = (an_event(claim, "ProvisioningFailed"),)
    assert codes(claim, replace(NOTHING_SAID, events=events)) == []


def test_events_about_an_earlier_claim_of_the_same_name_do_not_count() -> None:
    earlier = a_claim(namespace="elsewhere")
    events = (an_event(earlier, "ProvisioningFailed"),)
    assert codes(HANDED_OVER, replace(NOTHING_SAID, events=events)) == []


def test_a_class_that_was_missing_is_no_trouble_once_it_is_there() -> None:
    missing = f'storageclass.storage.k8s.io "{HANDED_OVER.storage_class}" not found'
    events = (
        an_event(HANDED_OVER, "ProvisioningFailed", missing, age=2 * MINUTE),
        an_event(HANDED_OVER, "ProvisioningFailed", "failing still", age=SECOND),
    )
    found = troubles(HANDED_OVER, replace(NOTHING_SAID, events=events), a_class())
    assert [trouble.sentence for trouble in found] == ["failing still"]


def test_a_claim_that_no_provisioner_takes_up_is_overdue_after_five_minutes() -> None:
    for minutes, expected in ((4, []), (6, [Reason.PROVISIONING_OVERDUE])):
        evidence = replace(NOTHING_SAID, handed_over_at={KEY: NOW - minutes * MINUTE})
        assert codes(HANDED_OVER, evidence) == expected


def test_a_provisioner_that_said_a_minute_ago_that_it_is_at_work_is_not_overdue() -> None:
    at_work = an_event(HANDED_OVER, "Provisioning", type_="Normal", age=MINUTE)
    evidence = replace(NOTHING_SAID, events=(at_work,), handed_over_at={KEY: NOW - 60 * MINUTE})
    assert codes(HANDED_OVER, evidence) == []


def test_nothing_is_overdue_where_events_or_times_could_not_be_read() -> None:
    assert codes(HANDED_OVER, NOTHING_SAID) == []
    evidence = replace(NOTHING_READ, handed_over_at={KEY: NOW - 60 * MINUTE})
    assert codes(HANDED_OVER, evidence) == []


def test_a_stopped_provisioner_matters_only_where_a_volume_has_to_be_made() -> None:
    leases = (a_lease("local-plimsoll-dev", age=10 * MINUTE),)
    evidence = replace(NOTHING_SAID, leases=leases)
    assert codes(a_claim(), evidence) == [Reason.PROVISIONER_STOPPED]
    assert codes(a_claim(), evidence, a_volume()) == []
    assert codes(HANDED_OVER, evidence, a_volume()) == [Reason.PROVISIONER_STOPPED]


def test_a_selected_node_that_exists_is_no_trouble() -> None:
    assert codes(annotated(a_claim(), {SELECTED_NODE: "node-1"}), NOTHING_READ) == []
    gone = annotated(a_claim(), {SELECTED_NODE: "node-9"})
    assert codes(gone, NOTHING_READ) == [Reason.NODE_GONE]


def test_a_volume_that_only_a_gone_node_could_reach_is_told_by_that_node() -> None:
    claim = annotated(bound(a_claim(), "volume-1"), {SELECTED_NODE: "node-9"})
    reachable = a_volume(reachable_from={HOSTNAME: "node-1"})
    stranded = a_volume(reachable_from={HOSTNAME: "node-9"})
    assert codes(claim, NOTHING_SAID, reachable) == []
    assert codes(claim, NOTHING_SAID, stranded) == [Reason.NODE_GONE]
