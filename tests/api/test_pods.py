import pytest

from plimsoll.api.core import Taint
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Container, Pod, Toleration
from plimsoll.api.typed import from_document
from tests.builders import a_pod

TAINT = Taint(key="disk", value="ssd", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "is_tolerated"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="disk", operator="Exists", effect="NoSchedule"), True),
        (Toleration(key="disk", value="ssd"), True),
        (Toleration(key="disk", operator="Equal", value="hdd"), False),
        (Toleration(key="disk", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="disk", operator="Gt", value="1"), False),
        (Toleration(), False),
    ],
)
def test_a_toleration_covers_a_taint_that_it_describes(
    toleration: Toleration, *, is_tolerated: bool
) -> None:
    assert toleration.tolerates(TAINT) is is_tolerated


def test_a_pod_uses_the_claims_it_names_and_those_made_for_it() -> None:
    pod = from_document(
        Pod,
        {
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "volumes": [
                    {"name": "logs", "emptyDir": {}},
                    {"name": "data", "persistentVolumeClaim": {"claimName": "orders"}},
                    {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                ]
            },
        },
    )
    assert pod.claims == (ObjectKey("shop", "orders"), ObjectKey("shop", "web-scratch"))


def test_a_pod_without_a_priority_has_priority_zero() -> None:
    assert a_pod().priority == 0


@pytest.mark.parametrize(
    ("phase", "is_finished"), [("Running", False), ("Succeeded", True), ("Failed", True)]
)
def test_a_pod_is_finished_when_its_phase_is_final(phase: str, *, is_finished: bool) -> None:
    assert from_document(Pod, {"status": {"phase": phase}}).is_finished is is_finished


def test_an_init_container_that_always_restarts_is_a_sidecar() -> None:
    assert Container(restart_policy="Always").is_sidecar
    assert not Container().is_sidecar


def test_node_affinity_is_reached_in_one_step() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference": {}}],
        }
    }
    spec = from_document(Pod, {"spec": {"affinity": affinity}}).spec
    assert spec.required_nodes is not None
    assert [term.weight for term in spec.preferred_nodes] == [7]
    assert a_pod().spec.required_nodes is None
    assert a_pod().spec.preferred_nodes == ()
