"""When a group waits, when it is given up, and when everything is there."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSINode
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import Intent, IntentState
from plimsoll.decide.scheduling.binding.group_progress import (
    AllMade,
    GroupWaiting,
    check_group,
    is_undone,
)
from plimsoll.decide.scheduling.binding.groups import Group, GroupedClaim
from plimsoll.decide.scheduling.binding.wait_for_volumes import GivenUp
from plimsoll.decide.scheduling.reasons import Reason

GROUP = Group(
    namespace="default",
    pod="web",
    pod_uid="p",
    node="node-a",
    attempt=0,
    deadline=datetime(2026, 1, 1, tzinfo=UTC),
    claims=(GroupedClaim("first", "1"), GroupedClaim("second", "2")),
)


def a_claim(number: str, **changes: str) -> PersistentVolumeClaim:
    names = {"1": "first", "2": "second"}
    annotations = {
        SELECTED_NODE: changes.get("node", "node-a"),
        HOLD: changes.get("hold", "p/0/make"),
    }
    metadata = {
        "namespace": "default",
        "name": names[number],
        "uid": changes.get("uid", number),
        "resourceVersion": changes.get("version", "5"),
        "annotations": annotations,
    }
    spec = {"volumeName": changes.get("volume", "")}
    return from_document(PersistentVolumeClaim, {"metadata": metadata, "spec": spec})


def an_intent(number: str, state: IntentState, hold: str = "p/0") -> Intent:
    claim = {"metadata": {"namespace": "default", "name": "any", "uid": number}}
    return Intent(
        driver="d", claim=claim, volume_name="v", state=state, hold=hold, refusal="no room"
    )


@dataclass
class Seen:
    """Implements GroupView: what the watch has shown."""

    claims: dict[str, PersistentVolumeClaim] = field(
        default_factory=lambda: {"first": a_claim("1"), "second": a_claim("2")}
    )
    intents: dict[str, Intent] = field(default_factory=dict)
    nodes: tuple[str, ...] = ("node-a",)
    pod_uid: str = "p"
    volumes: dict[str, PersistentVolume] = field(default_factory=dict)

    def node(self, name: str) -> Node | None:
        return from_document(Node, {"metadata": {"name": name}}) if name in self.nodes else None

    def pod(self, key: ObjectKey) -> Pod | None:
        metadata = {"namespace": key.namespace, "name": key.name, "uid": self.pod_uid}
        return from_document(Pod, {"metadata": metadata}) if self.pod_uid else None

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self.claims.get(key.name)

    def volume(self, name: str) -> PersistentVolume | None:
        return self.volumes.get(name)

    def csi_node(self, node: str) -> CSINode | None:
        del node
        return None

    def intent(self, claim_uid: str, hold: str) -> Intent | None:
        found = self.intents.get(claim_uid)
        return found if found is not None and found.hold == hold else None


def made(*numbers: str) -> dict[str, Intent]:
    return {number: an_intent(number, IntentState.MADE) for number in numbers}


def reason_of(seen: Seen) -> Reason:
    found = check_group(GROUP, {}, seen)
    assert isinstance(found, GivenUp)
    return found.finding.reason


def test_all_have_to_be_made() -> None:
    assert isinstance(check_group(GROUP, {}, Seen()), GroupWaiting)
    assert isinstance(check_group(GROUP, {}, Seen(intents=made("1"))), GroupWaiting)
    assert isinstance(check_group(GROUP, {}, Seen(intents=made("1", "2"))), AllMade)


def test_an_answer_to_an_earlier_attempt_is_none() -> None:
    for state in (IntentState.MADE, IntentState.REFUSED):
        old = made("1") | {"2": an_intent("2", state, hold="p/1")}
        assert isinstance(check_group(GROUP, {}, Seen(intents=old)), GroupWaiting)


def test_one_refusal_is_enough_whatever_the_others_are_doing() -> None:
    refused = {"2": an_intent("2", IntentState.REFUSED)}
    found = check_group(GROUP, {}, Seen(intents=refused))
    assert isinstance(found, GivenUp)
    assert found.finding.reason is Reason.PROVISIONER_REFUSED
    assert found.finding.claim == ObjectKey("default", "second")
    assert "no room" in found.finding.sentence


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (Seen(nodes=()), Reason.NODE_NOT_FOUND),
        (Seen(pod_uid=""), Reason.POD_NOT_FOUND),
        (Seen(pod_uid="another"), Reason.POD_NOT_FOUND),
        (Seen(claims={"first": a_claim("1")}), Reason.CLAIM_NOT_FOUND),
        (
            Seen(claims={"first": a_claim("1"), "second": a_claim("2", uid="9")}),
            Reason.CLAIM_NOT_FOUND,
        ),
        (
            Seen(claims={"first": a_claim("1"), "second": a_claim("2", node="node-b")}),
            Reason.SELECTED_ELSEWHERE,
        ),
        (
            Seen(claims={"first": a_claim("1"), "second": a_claim("2", hold="q/0/make")}),
            Reason.SELECTED_ELSEWHERE,
        ),
    ],
)
def test_what_ends_a_group(seen: Seen, reason: Reason) -> None:
    assert reason_of(seen) is reason


def test_a_claim_that_the_watch_shows_as_it_was_before_is_waited_for() -> None:
    late = a_claim("2", hold="", version="4")
    seen = Seen(claims={"first": a_claim("1"), "second": late}, intents=made("1"))
    written = {late.key: a_claim("2")}
    assert isinstance(check_group(GROUP, written, seen), GroupWaiting)


@pytest.mark.parametrize(("zone", "kind"), [("a", AllMade), ("b", GivenUp)])
def test_a_claim_that_another_hand_has_bound_counts_if_the_node_reaches_its_volume(
    zone: str, kind: type
) -> None:
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    terms = [{"matchExpressions": [expression]}] if zone == "b" else []
    affinity = {"required": {"nodeSelectorTerms": terms}} if terms else None
    spec = {"nodeAffinity": affinity} if affinity else {}
    volume = from_document(PersistentVolume, {"metadata": {"name": "disk"}, "spec": spec})
    claims = {"first": a_claim("1"), "second": a_claim("2", volume="disk", hold="", node="")}
    seen = Seen(claims=claims, intents=made("1"), volumes={"disk": volume})
    assert isinstance(check_group(GROUP, {}, seen), kind)


def test_undone_is_what_no_provisioner_still_has() -> None:
    assert is_undone(GROUP, Seen())
    assert not is_undone(GROUP, Seen(intents=made("1")))
    undoing = {"1": an_intent("1", IntentState.UNDOING)}
    assert not is_undone(GROUP, Seen(intents=undoing))
    over = {
        "1": an_intent("1", IntentState.UNDONE),
        "2": an_intent("2", IntentState.REFUSED),
    }
    assert is_undone(GROUP, Seen(intents=over))
    assert is_undone(GROUP, Seen(claims={"second": a_claim("2")}, intents=made("1")))
