"""What is written about a group, and what is read of it."""

from datetime import UTC, datetime

from msgspec.structs import replace

from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.scheduling.binding.groups import (
    CONTENT,
    EndedAttempt,
    Group,
    GroupedClaim,
    GroupState,
    StoredGroup,
    clear,
    hold_for,
    lease_document,
    next_attempt,
    read_group,
    release,
    undo,
)

GROUP = Group(
    namespace="default",
    pod="web",
    pod_uid="p",
    node="node-a",
    attempt=2,
    deadline=datetime(2026, 1, 1, tzinfo=UTC),
    claims=(GroupedClaim("data", "c"),),
)


def claim(hold: str = "", node: str = "node-a", volume: str = "") -> PersistentVolumeClaim:
    annotations = {SELECTED_NODE: node} | ({HOLD: hold} if hold else {})
    metadata = {
        "namespace": "default",
        "name": "data",
        "uid": "c",
        "resourceVersion": "7",
        "annotations": annotations,
    }
    spec = {"volumeName": volume} if volume else {}
    return from_document(PersistentVolumeClaim, {"metadata": metadata, "spec": spec})


def test_what_is_stored_is_read() -> None:
    lease = lease_document(StoredGroup(group=GROUP), "kube-system")
    assert lease["metadata"]["name"] == "plimsoll-group-p"
    assert read_group(lease) == GROUP


def test_what_cannot_be_read_is_no_group() -> None:
    for text in ("", "{", "[]", '{"pod": 1}'):
        assert read_group({"metadata": {"annotations": {CONTENT: text}}}) is None
    assert read_group({"metadata": {}}) is None


def test_a_deadline_without_a_time_zone_is_no_group() -> None:
    """Such a time cannot be compared with now."""
    lease = lease_document(StoredGroup(group=GROUP), "kube-system")
    annotations = lease["metadata"]["annotations"]
    annotations[CONTENT] = annotations[CONTENT].replace("00:00:00Z", "00:00:00")
    assert read_group(lease) is None


def test_a_group_tells_what_ended_its_last_attempt_also_during_the_next() -> None:
    first = EndedAttempt(attempt=1, node="node-z", why="no room", claim="data")
    assert GROUP.ended is None
    assert replace(GROUP, before=first).ended == first
    undoing = replace(GROUP, state=GroupState.UNDOING, why="time is up", why_claim="", before=first)
    assert undoing.ended == EndedAttempt(attempt=2, node="node-a", why="time is up")


def test_node_and_hold_come_and_go_in_one_write_on_the_version_that_was_seen() -> None:
    made = hold_for(GROUP, claim())
    assert made.patch["metadata"]["annotations"] == {SELECTED_NODE: "node-a", HOLD: "p/2/make"}
    assert made.version == "7"
    gone = clear(GROUP, claim("p/2/undo"))
    assert gone is not None
    assert gone.patch["metadata"]["annotations"] == {SELECTED_NODE: None, HOLD: None}


def test_a_hold_of_another_attempt_is_left_alone() -> None:
    for hold in ("", "p/1/make", "other/2/make"):
        assert undo(GROUP, claim(hold)) is None
        assert clear(GROUP, claim(hold)) is None
        assert release(GROUP, claim(hold)) is None


def test_what_is_to_be_made_is_not_cleared_before_it_is_told_to_be_undone() -> None:
    assert clear(GROUP, claim("p/2/make")) is None


def test_undo_is_said_once() -> None:
    said = undo(GROUP, claim("p/2/make"))
    assert said is not None
    assert said.patch["metadata"]["annotations"] == {HOLD: "p/2/undo"}
    assert undo(GROUP, claim("p/2/undo")) is None


def test_a_node_that_another_scheduler_selected_stays_when_the_hold_goes() -> None:
    for changed in (claim("p/2/undo", node="node-b"), claim("p/2/undo", volume="disk")):
        gone = clear(GROUP, changed)
        assert gone is not None
        assert gone.patch["metadata"]["annotations"] == {HOLD: None}


def test_no_number_is_used_twice() -> None:
    assert next_attempt(None, (claim(),), "p") == 0
    assert next_attempt(GROUP, (claim(),), "p") == 3
    assert next_attempt(None, (claim("p/4/make"),), "p") == 5, "the record was lost"
    assert next_attempt(None, (claim("other/4/make"),), "p") == 0
    assert next_attempt(replace(GROUP, state=GroupState.UNDONE), (claim(),), "p") == 3
