"""What a claim is waiting for."""

import pytest
from msgspec.structs import replace

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod, PodStatus
from plimsoll.decide.annotations import PLACEMENT_REASON, PREFERRED_TOPOLOGY
from plimsoll.decide.claims.match import Mismatch
from plimsoll.decide.explain.claim import ClaimExplanation, Unsuited, explain_claim
from plimsoll.decide.explain.claim_state import ClaimState
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.reasons import Reason
from tests.builders import HOSTNAME, a_claim, a_class, a_node, a_pod, a_volume
from tests.decide.scheduling.builders import a_local_class, bound

KEY = ObjectKey("default", "data")
POD = a_pod(claims=["data"])


def explained(*objects: ApiObject, pods: tuple[Pod, ...] = ()) -> ClaimExplanation:
    return explain_claim(KEY, pods, Kernel(Columns.of(objects)))


def codes(explanation: ClaimExplanation) -> list[Reason]:
    return [trouble.reason for trouble in explanation.troubles]


def test_a_claim_that_does_not_exist() -> None:
    explanation = explained()
    assert explanation.claim.state is ClaimState.NOT_FOUND
    assert codes(explanation) == [Reason.CLAIM_NOT_FOUND]


def test_a_bound_claim_names_its_volume_and_from_where_it_can_be_reached() -> None:
    volume = a_volume(reachable_from={HOSTNAME: "a"})
    explanation = explained(a_node("a"), a_node("b"), volume, bound(a_claim(), "volume-1"))
    assert explanation.message == "Bound to volume volume-1."
    assert explanation.reachable_from == 1


def test_a_delay_bound_claim_without_a_pod_waits_for_one() -> None:
    explanation = explained(a_class(), a_claim())
    assert explanation.message == "Waits for the first pod that uses it."
    assert codes(explanation) == []


def test_a_delay_bound_claim_with_a_pod_shows_what_the_claim_has_to_do_with_the_wait() -> None:
    pod = a_pod(claims=["data"], requests={"cpu": "99"})
    explanation = explained(a_node(), a_local_class(), a_claim(), pods=(pod,))
    assert explanation.message == "Waits for its pod to get a node."
    (about,) = explanation.pods
    (group,) = about.groups
    assert [trouble.reason for trouble in group.troubles] == [Reason.NO_MATCHING_VOLUME]


def test_a_delay_bound_claim_whose_pod_was_put_on_a_node_does_not_wait_for_a_pod() -> None:
    pod = a_pod(claims=["data"], node="a")
    explanation = explained(a_node("a"), a_class(), a_claim(), pods=(pod,))
    assert explanation.message == (
        "No node is selected for its volume: pod web-0 was put on node a without the scheduler. "
        "Make the pod without spec.nodeName, or let the repair rule direct-node select node a."
    )
    assert [about.pod for about in explanation.pods] == [pod]


def test_a_pod_that_has_ended_is_not_told_of() -> None:
    ended = replace(a_pod(claims=["data"], node="a"), status=PodStatus(phase="Succeeded"))
    explanation = explained(a_node("a"), a_class(), a_claim(), pods=(ended,))
    assert explanation.message == "Waits for the first pod that uses it."


def test_an_immediate_claim_is_told_what_is_wrong_with_the_volumes_there_are() -> None:
    volumes = [a_volume("small", gib=1), a_volume("taken", gib=20, claim=a_claim("other"))]
    explanation = explained(a_class(binding_mode="Immediate"), a_claim(gib=10), *volumes)
    assert codes(explanation) == [Reason.UNBOUND_IMMEDIATE_CLAIM]
    assert explanation.volumes == 2
    assert Unsuited(Mismatch.TOO_SMALL, 1, "small") in explanation.unsuited
    assert Unsuited(Mismatch.TAKEN, 1, "taken") in explanation.unsuited
    assert explanation.message.endswith("or one made by local.plimsoll.dev.")


def test_a_claim_of_a_class_that_does_not_exist() -> None:
    assert codes(explained(a_claim(class_name="gone"))) == [
        Reason.CLASS_NOT_FOUND,
        Reason.UNBOUND_IMMEDIATE_CLAIM,
    ]


def test_each_pod_of_a_claim_is_judged_by_the_rules_of_its_own_scheduler() -> None:
    objects = (a_node(), a_class(), a_claim())
    kernels = {
        "one": Kernel(Columns.of(objects)),
        "two": Kernel(Columns.of([*objects, a_node("other")])),
    }
    pods = [a_pod(name, claims=["data"]) for name in kernels]
    found = explain_claim(KEY, pods, kernels["one"], kernel_of=lambda pod: kernels[pod.name])
    assert [pod.nodes for pod in found.pods] == [1, 2]


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        ({}, ""),
        (
            {
                PLACEMENT_REASON: "Pool a: it has most room.",
                PREFERRED_TOPOLOGY: '[{"region":"east"},{"zone":"b"}]',
            },
            " Pool a: it has most room. It is cheap to use on nodes with region=east, zone=b.",
        ),
        (
            {PREFERRED_TOPOLOGY: "zone b"},
            f" Its annotation {PREFERRED_TOPOLOGY} cannot be read and does not count.",
        ),
    ],
    ids=["nothing-told", "readable", "unreadable"],
)
def test_a_bound_claim_tells_where_its_volume_is_cheap_to_use(
    annotations: dict[str, str], told: str
) -> None:
    plain = a_volume("v")
    volume = replace(plain, metadata=replace(plain.metadata, annotations=annotations))
    explanation = explained(a_node("a"), volume, bound(a_claim(), "v"))
    assert explanation.message == f"Bound to volume v.{told}"
