from typing import Any

import pytest

from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, a_pod_with, complaints


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        pytest.param({"image": ""}, ("Required", "image"), id="no-image"),
        pytest.param({"image": " x"}, ("Invalid", "image"), id="padded-image"),
        pytest.param({"name": "C_1"}, ("Invalid", "name"), id="bad-name"),
        pytest.param(
            {"terminationMessagePolicy": "X"},
            ("NotSupported", "terminationMessagePolicy"),
            id="message-policy",
        ),
        pytest.param({"imagePullPolicy": "X"}, ("NotSupported", "imagePullPolicy"), id="pull"),
        pytest.param(
            {"ports": [{"containerPort": 70000}]},
            ("Invalid", "ports[0].containerPort"),
            id="port-too-large",
        ),
        pytest.param({"ports": [{}]}, ("Required", "ports[0].containerPort"), id="port-missing"),
        pytest.param(
            {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
            ("Duplicate", "ports[1].name"),
            id="port-name-twice",
        ),
        pytest.param(
            {"resizePolicy": [{"resourceName": "gpu", "restartPolicy": "NotRequired"}]},
            ("NotSupported", "resizePolicy"),
            id="resize",
        ),
        pytest.param(
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In"}}]},
            ("Required", "restartPolicy"),
            id="rules-without-policy",
        ),
    ],
)
def test_a_container_with_one_fault_is_refused_for_it_alone(
    fields: dict[str, Any], refused: tuple[str, str]
) -> None:
    reason, field = refused

    assert complaints(a_pod_with(**fields)) == {(reason, f"spec.containers[0].{field}"): 1}


def test_names_are_unique_among_regular_and_init_containers() -> None:
    pod = a_pod(containers=[a_container("a"), a_container("a")], initContainers=[a_container("a")])

    assert complaints(pod) == {
        ("Duplicate", "spec.containers[1].name"): 1,
        ("Duplicate", "spec.initContainers[0].name"): 1,
    }


def test_two_containers_cannot_have_the_same_port_of_the_host() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}]
    pod = a_pod(containers=[a_container("a", ports=ports), a_container("b", ports=ports)])

    assert complaints(pod) == {("Duplicate", "spec.containers[1].ports[0].hostPort"): 1}


def test_only_init_containers_that_stay_may_be_probed() -> None:
    probe = {"livenessProbe": {"tcpSocket": {"port": 80}}}
    stays = a_pod(initContainers=[a_container("i", restartPolicy="Always", **probe)])
    ends = a_pod(initContainers=[a_container("i", **probe)])

    assert not complaints(stays)
    assert complaints(ends) == {("Forbidden", "spec.initContainers[0].livenessProbe"): 1}
