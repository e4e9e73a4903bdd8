"""Every way in which a pod can be left without a node is told by its own code, with numbers."""

import msgspec
import pytest

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod, SchedulingGate
from plimsoll.decide.explain.pod import PodExplanation, PodState, explain_pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.reasons import Reason
from tests.builders import HOSTNAME, a_capacity, a_claim, a_class, a_driver, a_node, a_pod
from tests.decide.explain.faults import FAULTS
from tests.decide.scheduling.builders import a_local_class, ranked

GIB = 2**30
ALONG_WITH = {
    # A claim whose class is missing waits for an administrator to bind it.
    Reason.CLASS_NOT_FOUND: {Reason.UNBOUND_IMMEDIATE_CLAIM},
    Reason.CLAIM_LOST: {Reason.VOLUME_NOT_FOUND},
}


def explained(pod: Pod, *objects: ApiObject, policy: Policy = Policy.DEFAULT) -> PodExplanation:
    return explain_pod(pod, Kernel(Columns.of(objects), KernelSettings(policy=policy)))


def codes(explanation: PodExplanation) -> set[Reason]:
    groups = {trouble.reason for group in explanation.groups for trouble in group.troubles}
    return groups | {trouble.reason for trouble in explanation.everywhere}


@pytest.mark.parametrize("reason", FAULTS)
@pytest.mark.parametrize("policy", Policy)
def test_every_fault_has_its_code(reason: Reason, policy: Policy) -> None:
    pod, objects = FAULTS[reason]()
    explanation = explained(pod, *objects, policy=policy)
    assert explanation.state is PodState.UNSCHEDULABLE
    assert reason in codes(explanation)
    assert codes(explanation) == {reason} | ALONG_WITH.get(reason, set())


def test_the_numbers_and_the_object_come_with_the_code() -> None:
    nodes = [a_node(name) for name in ("a", "b")]
    capacities = [
        a_capacity(name, segment={HOSTNAME: name}, gib=gib) for name, gib in (("a", 3), ("b", 7))
    ]
    objects = (*nodes, *capacities, a_class(), a_driver(), a_claim(gib=10))
    explanation = explained(a_pod(claims=["data"]), *objects)
    (group,) = explanation.groups
    (trouble,) = group.troubles
    assert group.nodes == ("a", "b")
    assert trouble.claim == ObjectKey("default", "data")
    assert (trouble.wanted, trouble.least, trouble.most) == (10 * GIB, 3 * GIB, 7 * GIB)
    assert str(trouble.about) == "CSIStorageCapacity plimsoll/b"


def test_all_that_speaks_against_a_node_is_told_not_only_the_first() -> None:
    objects = (a_node(cpu="1"), a_local_class(), a_claim("one"), a_claim("two"))
    pod = a_pod(claims=["one", "two"], requests={"cpu": "2"})
    (group,) = explained(pod, *objects).groups
    assert [(trouble.reason, str(trouble.claim or "")) for trouble in group.troubles] == [
        (Reason.INSUFFICIENT_RESOURCE, ""),
        (Reason.NO_MATCHING_VOLUME, "default/one"),
        (Reason.NO_MATCHING_VOLUME, "default/two"),
    ]


def test_a_pod_that_could_go_somewhere_is_told_where() -> None:
    explanation = explained(a_pod(requests={"cpu": "2"}), a_node("a", cpu="1"), a_node("b"))
    assert explanation.state is PodState.SCHEDULABLE
    assert (explanation.best, explanation.fitting) == ("b", ("b",))
    assert explanation.message == "1/2 nodes are available: b would be taken."
    assert codes(explanation) == {Reason.INSUFFICIENT_RESOURCE}


def test_what_several_rules_stumble_over_is_told_once() -> None:
    objects = (a_node(), a_class(binding_mode="Immediate"), a_claim())
    (trouble,) = explained(a_pod(claims=["data"]), *objects).everywhere
    assert trouble.sentence == "pod has unbound immediate PersistentVolumeClaims"


def test_a_pod_on_its_node_needs_no_explanation() -> None:
    explanation = explained(a_pod(node="a"), a_node("a"))
    assert (explanation.state, explanation.groups) == (PodState.SCHEDULED, ())


def test_a_gated_pod_is_told_its_gates() -> None:
    gates = (SchedulingGate(name="example.com/ready"),)
    spec = msgspec.structs.replace(a_pod().spec, scheduling_gates=gates)
    explanation = explained(msgspec.structs.replace(a_pod(), spec=spec), a_node())
    assert explanation.state is PodState.GATED
    assert "example.com/ready" in explanation.message


def test_five_thousand_nodes_fit_on_a_page() -> None:
    nodes = [a_node(f"node-{n:04}", cpu="1" if n % 2 else "8") for n in range(5000)]
    capacities = [
        a_capacity(node.name, segment={HOSTNAME: node.name}, gib=n % 5)
        for n, node in enumerate(nodes[:4000])
    ]
    objects = (*nodes, *capacities, a_class(), a_driver(), a_claim(gib=10))
    explanation = explained(a_pod(claims=["data"], requests={"cpu": "2"}), *objects)
    assert len(explanation.groups) == 6
    assert sum(len(group.nodes) for group in explanation.groups) == 5000


def test_a_node_that_is_promised_to_another_pod_is_told_to_be_full() -> None:
    promised = ranked(a_pod("promised", requests={"cpu": "3"}), 10, nominated="a")
    pod = ranked(a_pod(requests={"cpu": "2"}), 1)
    kernel = Kernel(Columns.of([a_node("a", cpu="4"), a_node("b", cpu="1"), promised]))
    assert explain_pod(pod, kernel).fitting == ("a",)

    kernel.columns.nominations.put(promised)

    explanation = explain_pod(pod, kernel)
    assert explanation.state is PodState.UNSCHEDULABLE
    assert explanation.fitting == ()
    assert codes(explanation) == {Reason.INSUFFICIENT_RESOURCE}
    assert "2 Insufficient cpu" in explanation.message
