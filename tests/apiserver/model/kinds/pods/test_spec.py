from typing import Any

import pytest

from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, complaints

ANY_SELECTOR = {"matchLabels": {"a": "b"}}


def test_a_plain_pod_is_accepted() -> None:
    assert not complaints(a_pod())


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param({"containers": []}, ("Required", "spec.containers"), id="no-containers"),
        pytest.param({"restartPolicy": "P"}, ("NotSupported", "spec.restartPolicy"), id="restart"),
        pytest.param({"dnsPolicy": "None"}, ("Required", "spec.dnsConfig"), id="dns-none"),
        pytest.param({"nodeSelector": {"a b": "c"}}, ("Invalid", "spec.nodeSelector"), id="nodes"),
        pytest.param({"nodeName": "N_"}, ("Invalid", "spec.nodeName"), id="node-name"),
        pytest.param({"hostname": "A"}, ("Invalid", "spec.hostname"), id="hostname"),
        pytest.param(
            {"activeDeadlineSeconds": 0}, ("Invalid", "spec.activeDeadlineSeconds"), id="deadline"
        ),
        pytest.param(
            {"hostAliases": [{"ip": "x"}]}, ("Invalid", "spec.hostAliases[0].ip"), id="alias"
        ),
        pytest.param(
            {"schedulingGates": [{"name": "a"}, {"name": "a"}]},
            ("Duplicate", "spec.schedulingGates[1]"),
            id="gate-twice",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "a"}], "nodeName": "n"},
            ("Forbidden", "spec.nodeName"),
            id="gate-and-node",
        ),
        pytest.param(
            {"preemptionPolicy": ""}, ("Required", "spec.preemptionPolicy"), id="preemption"
        ),
        pytest.param(
            {"resourceClaims": [{"name": "a"}]}, ("Invalid", "spec.resourceClaims[0]"), id="claims"
        ),
        pytest.param(
            {"overhead": {"cpu": "-1"}}, ("Invalid", "spec.overhead.limits[cpu]"), id="overhead"
        ),
        pytest.param(
            {"ephemeralContainers": [a_container("e")]},
            ("Forbidden", "spec.ephemeralContainers"),
            id="debug-container-from-the-start",
        ),
        pytest.param(
            {"hostUsers": False, "hostPID": True}, ("Forbidden", "spec.HostPID"), id="host-users"
        ),
        pytest.param({"os": {"name": "plan9"}}, ("NotSupported", "spec.os"), id="os"),
    ],
)
def test_a_pod_with_one_fault_is_refused_for_it_alone(
    spec: dict[str, Any], refused: tuple[str, str]
) -> None:
    assert complaints(a_pod(**spec)) == {refused: 1}


def test_a_token_needs_a_service_account() -> None:
    token = {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    volumes = [{"name": "v"} | token]

    assert not complaints(a_pod(volumes=volumes, serviceAccountName="robot"))
    assert complaints(a_pod(volumes=volumes)) == {
        ("Forbidden", "spec.volumes[0].projected.sources[0].serviceAccountToken"): 1
    }


def test_pod_annotations_are_read() -> None:
    annotations = {"controller.kubernetes.io/pod-deletion-cost": "+1"}

    assert complaints(a_pod(meta={"annotations": annotations})) == {
        ("Invalid", "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]"): 1
    }
