from typing import Any

import pytest

from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, a_pod_with, complaints

TCP = {"tcpSocket": {"port": 80}}


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        pytest.param({"livenessProbe": {}}, ("Required", "livenessProbe"), id="no-handler"),
        pytest.param(
            {"readinessProbe": TCP | {"exec": {"command": ["a"]}}},
            ("Forbidden", "readinessProbe.tcpSocket"),
            id="two-handlers",
        ),
        pytest.param(
            {"livenessProbe": TCP | {"successThreshold": 2}},
            ("Invalid", "livenessProbe.successThreshold"),
            id="two-successes",
        ),
        pytest.param(
            {"readinessProbe": TCP | {"terminationGracePeriodSeconds": 5}},
            ("Invalid", "readinessProbe.terminationGracePeriodSeconds"),
            id="readiness-does-not-kill",
        ),
        pytest.param(
            {"startupProbe": TCP | {"initialDelaySeconds": -1}},
            ("Invalid", "startupProbe.initialDelaySeconds"),
            id="negative-delay",
        ),
        pytest.param(
            {"livenessProbe": {"httpGet": {"port": "no_name"}}},
            ("Invalid", "livenessProbe.httpGet.port"),
            id="port-name",
        ),
        pytest.param(
            {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
            ("Invalid", "lifecycle.preStop.sleep"),
            id="sleeps-longer-than-it-lives",
        ),
        pytest.param(
            {"lifecycle": {"stopSignal": "SIGTERM"}},
            ("Forbidden", "lifecycle.stopSignal"),
            id="signal-of-an-unknown-system",
        ),
    ],
)
def test_a_probe_with_one_fault_is_refused_for_it_alone(
    fields: dict[str, Any], refused: tuple[str, str]
) -> None:
    reason, field = refused

    assert complaints(a_pod_with(**fields)) == {(reason, f"spec.containers[0].{field}"): 1}


def test_a_stop_signal_must_be_one_of_the_system() -> None:
    container = a_container(lifecycle={"stopSignal": "SIGHUP"})

    assert not complaints(a_pod(containers=[container], os={"name": "linux"}))
    assert complaints(a_pod(containers=[container], os={"name": "windows"})) == {
        ("NotSupported", "spec.containers[0].lifecycle.stopSignal"): 1
    }
