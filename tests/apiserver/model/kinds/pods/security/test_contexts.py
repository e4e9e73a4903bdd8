from typing import Any

import pytest

from tests.apiserver.model.kinds.pods.objects import a_pod, a_pod_with, complaints


@pytest.mark.parametrize(
    ("context", "refused"),
    [
        pytest.param({"runAsUser": -1}, ("Invalid", "runAsUser"), id="user"),
        pytest.param(
            {"supplementalGroups": [-1]}, ("Invalid", "supplementalGroups[0]"), id="group"
        ),
        pytest.param(
            {"fsGroupChangePolicy": "Never"}, ("NotSupported", "fsGroupChangePolicy"), id="policy"
        ),
        pytest.param(
            {"seccompProfile": {"type": "Localhost"}},
            ("Required", "seccompProfile.localhostProfile"),
            id="seccomp",
        ),
        pytest.param({"sysctls": [{"name": "A"}]}, ("Invalid", "sysctls[0].name"), id="sysctl"),
        pytest.param(
            {"appArmorProfile": {"type": "X"}}, ("NotSupported", "appArmorProfile.type"), id="armor"
        ),
    ],
)
def test_a_security_context_with_one_fault_is_refused_for_it_alone(
    context: dict[str, Any], refused: tuple[str, str]
) -> None:
    reason, field = refused

    found = complaints(a_pod(securityContext=context))

    assert found == {(reason, f"spec.securityContext.{field}"): 1}


def test_settings_of_a_namespace_that_belongs_to_the_host_are_the_hosts() -> None:
    context = {"sysctls": [{"name": "net.ipv4.ip_forward", "value": "1"}]}

    assert not complaints(a_pod(securityContext=context))
    assert complaints(a_pod(securityContext=context, hostNetwork=True)) == {
        ("Invalid", "spec.securityContext.sysctls[0].name"): 1
    }


def test_a_privileged_container_cannot_be_kept_from_escalating() -> None:
    context = {"privileged": True, "allowPrivilegeEscalation": False}

    assert complaints(a_pod_with(securityContext=context)) == {
        ("Invalid", "spec.containers[0].securityContext"): 1
    }
