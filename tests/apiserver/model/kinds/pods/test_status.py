from collections import Counter
from copy import deepcopy
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.rules import RULES
from tests.apiserver.model.kinds.pods.objects import NOW, a_container, a_pod, a_stored_pod, causes

TERMINATED = {"name": "c", "state": {"terminated": {"exitCode": 0}}}
RUNNING = {"name": "c", "state": {"running": {}}}


def refusals(old: Document, **status: Any) -> Counter[tuple[str, str]]:
    new = deepcopy(old)
    new["status"] |= status
    RULES.prepare_status(new, old, NOW)
    return causes(RULES.validate_status(new, old))


def test_a_new_pod_is_pending_whatever_the_client_says() -> None:
    pod = a_pod() | {"status": {"phase": "Running"}}

    RULES.prepare_create(pod, NOW)

    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_gated_pod_says_why_it_waits() -> None:
    pod = a_stored_pod(schedulingGates=[{"name": "a"}])

    assert pod["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }
    ]


def test_any_phase_is_accepted() -> None:
    assert not refusals(a_stored_pod(), phase="Odd")


def test_writing_the_status_changes_nothing_else() -> None:
    old = a_stored_pod()
    new = deepcopy(old) | {"spec": {}, "status": {"phase": "Running"}}

    RULES.prepare_status(new, old, NOW)

    assert new["spec"] == old["spec"]
    assert new["status"] == {"phase": "Running", "qosClass": "BestEffort"}


def test_the_quality_of_service_stays() -> None:
    assert refusals(a_stored_pod(), qosClass="Guaranteed") == {("Invalid", "status.qosClass"): 1}


def test_conditions_keep_the_generation_they_were_observed_at() -> None:
    seen = {"type": "Ready", "status": "True", "observedGeneration": 4}
    old = a_stored_pod() | {"status": {"conditions": [seen]}}
    new = deepcopy(old) | {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}

    RULES.prepare_status(new, old, NOW)

    assert new["status"]["conditions"][0]["observedGeneration"] == 4


def test_a_pod_is_nominated_only_before_it_has_a_node() -> None:
    assert not refusals(a_stored_pod(), nominatedNodeName="n1")
    assert refusals(a_stored_pod(nodeName="n1"), nominatedNodeName="n2") == {
        ("Forbidden", "status.nominatedNodeName"): 1
    }


def test_addresses_are_valid_and_of_different_families() -> None:
    pod = a_stored_pod()

    assert not refusals(pod, podIPs=[{"ip": "10.0.0.1"}, {"ip": "fd00::1"}])
    assert refusals(pod, podIPs=[{"ip": "x"}]) == {("Invalid", "status.podIPs[0]"): 1}
    assert refusals(pod, podIPs=[{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]) == {
        ("Invalid", "status.podIPs"): 1
    }


def test_a_container_that_ended_for_good_stays_ended() -> None:
    once = a_stored_pod(restartPolicy="Never")
    once["status"]["containerStatuses"] = [TERMINATED]
    forever = a_stored_pod()
    forever["status"]["containerStatuses"] = [TERMINATED]

    assert not refusals(forever, containerStatuses=[RUNNING])
    assert refusals(once, containerStatuses=[RUNNING]) == {
        ("Forbidden", "status.containerStatuses[0].state"): 1
    }


def test_a_rule_can_restart_a_container_that_otherwise_never_restarts() -> None:
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [0]}}]
    container = a_container(restartPolicy="Never", restartPolicyRules=rules)
    pod = a_stored_pod(restartPolicy="Never", containers=[container])
    pod["status"]["containerStatuses"] = [TERMINATED]

    assert not refusals(pod, containerStatuses=[RUNNING])
