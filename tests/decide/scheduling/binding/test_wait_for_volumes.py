import pytest

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.binding.bind_volumes import Choice
from plimsoll.decide.scheduling.binding.wait_for_volumes import (
    TIMED_OUT,
    Bound,
    GivenUp,
    Progress,
    Waiting,
    check_bindings,
)
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import StaticBinding
from tests.builders import a_claim, a_node, a_pod, a_volume
from tests.decide.scheduling.builders import a_cluster, annotated, bound, on_host, versioned

POD = a_pod(claims=["data"])
CLAIM = versioned(a_claim(), 5)
WRITTEN = versioned(a_volume(claim=CLAIM, reachable_from=on_host("node-1")), 9)
STATIC = Choice(node="node-1", static=(StaticBinding(CLAIM, WRITTEN),))
PROMISED = versioned(annotated(a_claim(), {SELECTED_NODE: "node-1"}), 9)
DYNAMIC = Choice(node="node-1", awaited=(PROMISED,))
DONE = bound(PROMISED, "volume-1")


def check(choice: Choice, *objects: ApiObject) -> Progress:
    return check_bindings(POD.key, choice, a_cluster(a_node("node-1"), POD, *objects))


def given_up(progress: Progress) -> tuple[Reason, str]:
    assert isinstance(progress, GivenUp)
    return progress.finding.reason, progress.finding.sentence


def test_an_existing_volume_is_there_when_the_controller_has_bound_the_claim() -> None:
    assert check(STATIC, WRITTEN, CLAIM) == Waiting(CLAIM.key)
    assert check(STATIC, WRITTEN, bound(CLAIM, "volume-1")) == Bound()


def test_nothing_is_concluded_from_what_was_before_our_write() -> None:
    assert check(STATIC, versioned(a_volume(), 8), CLAIM) == Waiting(CLAIM.key)
    assert check(DYNAMIC, versioned(a_claim(), 8)) == Waiting(CLAIM.key)


def test_a_new_volume_is_there_when_the_claim_is_bound_to_it() -> None:
    assert check(DYNAMIC, PROMISED) == Waiting(CLAIM.key)
    assert check(DYNAMIC, DONE) == Waiting(CLAIM.key)
    assert check(DYNAMIC, DONE, a_volume()) == Bound()


def test_a_provisioner_refuses_by_taking_the_node_out_of_the_claim() -> None:
    other = annotated(PROMISED, {SELECTED_NODE: "node-2"})
    assert given_up(check(DYNAMIC, other)) == (
        Reason.PROVISIONER_REFUSED,
        'provisioning failed for PVC "data"',
    )
    assert given_up(check(DYNAMIC, versioned(a_claim(), 10))) == (
        Reason.PROVISIONER_REFUSED,
        'selectedNode annotation reset for PVC "data"',
    )


@pytest.mark.parametrize("choice", [STATIC, DYNAMIC])
def test_a_volume_out_of_reach_is_given_up(choice: Choice) -> None:
    far = versioned(a_volume(claim=CLAIM, reachable_from=on_host("node-2")), 9)
    assert given_up(check(choice, far, DONE)) == (
        Reason.VOLUME_AFFINITY_CONFLICT,
        'pv "volume-1" node affinity doesn\'t match node "node-1": no matching NodeSelectorTerms',
    )


def test_a_volume_that_no_longer_names_the_claim_is_given_up() -> None:
    kept = versioned(a_volume(claim=ObjectKey("default", "data")), 10)
    assert given_up(check(STATIC, kept, CLAIM))[0] is Reason.CHANGED_MEANWHILE


def test_a_claim_that_another_scheduler_gave_a_volume_out_of_reach_is_given_up() -> None:
    taken = bound(CLAIM, "volume-2")
    assert check(STATIC, WRITTEN, taken) == Waiting(CLAIM.key)
    near = a_volume("volume-2", claim=CLAIM, reachable_from=on_host("node-1"))
    assert check(STATIC, WRITTEN, taken, near) == Bound()
    far = a_volume("volume-2", claim=CLAIM, reachable_from=on_host("node-2"))
    assert given_up(check(STATIC, WRITTEN, taken, far)) == (
        Reason.VOLUME_AFFINITY_CONFLICT,
        'pv "volume-2" node affinity doesn\'t match node "node-1": no matching NodeSelectorTerms',
    )


def test_what_is_gone_is_not_waited_for() -> None:
    assert given_up(check(STATIC, CLAIM))[0] is Reason.VOLUME_NOT_FOUND
    assert given_up(check(STATIC, WRITTEN))[0] is Reason.CLAIM_NOT_FOUND
    assert given_up(check(DYNAMIC))[0] is Reason.CLAIM_NOT_FOUND
    gone = check_bindings(POD.key, STATIC, a_cluster(a_node("node-1")))
    assert given_up(gone) == (
        Reason.POD_NOT_FOUND,
        'pod does not exist any more: pod "web-0" not found',
    )
    assert given_up(check_bindings(POD.key, STATIC, a_cluster(POD)))[0] is Reason.NODE_NOT_FOUND


def test_giving_up_is_told_in_known_words() -> None:
    assert TIMED_OUT.sentence == "binding volumes: context deadline exceeded"
