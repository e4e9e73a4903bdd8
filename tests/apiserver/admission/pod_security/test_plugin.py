"""Namespaces that say what their pods may do."""

from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.pod_security.plugin import SecurityLevel, check, violations
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_request, an_object
from tests.apiserver.api import Api

PREFIX = "pod-security.kubernetes.io/"
GOOD: Document = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "c",
            "image": "i",
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    ],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
}


def a_namespace(**labels: str) -> Document:
    namespace = an_object("Namespace", "default", status={"phase": "Active"})
    namespace["metadata"]["labels"] = {PREFIX + k.replace("_", "-"): v for k, v in labels.items()}
    return namespace


def a_container(**fields: Any) -> Document:
    return {"containers": [{"name": "c"} | fields]}


def in_context(**context: Any) -> Document:
    return a_container(securityContext=context)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"hostNetwork": True, "hostPID": True},
            "host namespaces (hostNetwork=true, hostPID=true)",
        ),
        (
            in_context(privileged=True),
            'privileged (container "c" must not set securityContext.privileged=true)',
        ),
        (
            in_context(capabilities={"add": ["SYS_ADMIN", "CHOWN"]}),
            (
                'non-default capabilities (container "c" must not include "SYS_ADMIN" in '
                "securityContext.capabilities.add)"
            ),
        ),
        (
            {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]},
            'hostPath volumes (volume "a")',
        ),
        (a_container(ports=[{"hostPort": 80}]), 'hostPort (container "c" uses hostPort 80)'),
        (
            in_context(procMount="Unmasked"),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            {"securityContext": {"seLinuxOptions": {"type": "x", "user": "u"}}},
            (
                "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: "
                'type "x"; user may not be set)'
            ),
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}},
            "forbidden sysctls (kernel.msgmax)",
        ),
        (
            in_context(windowsOptions={"hostProcess": True}),
            (
                'hostProcess (container "c" must not set '
                "securityContext.windowsOptions.hostProcess=true)"
            ),
        ),
        (
            a_container(livenessProbe={"httpGet": {"host": "10.0.0.1", "port": 80}}),
            'probe or lifecycle host (container "c" uses probe or lifecycle host "10.0.0.1")',
        ),
    ],
)
def test_what_leads_out_of_a_container_is_against_the_baseline(spec: Document, said: str) -> None:
    assert violations(SecurityLevel("baseline"), {}, spec) == said
    assert violations(SecurityLevel("privileged"), {}, spec) == ""


def test_a_pod_with_users_of_its_own_may_do_more() -> None:
    unmasked = in_context(procMount="Unmasked", runAsUser=0) | {"hostUsers": False}

    assert violations(SecurityLevel("baseline"), {}, unmasked) == ""
    restricted = violations(SecurityLevel("restricted"), {}, unmasked)
    assert "procMount" in restricted
    assert "runAs" not in restricted


def test_annotations_may_not_lift_confinement() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"

    assert violations(SecurityLevel("baseline"), {"annotations": {key: "unconfined"}}, {}) == (
        "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
        f'"{key}="unconfined"")'
    )


def test_a_plain_pod_is_within_the_baseline_but_not_restricted() -> None:
    plain = a_container()

    assert violations(SecurityLevel("baseline"), {}, plain) == ""
    assert violations(SecurityLevel("restricted"), {}, plain) == (
        'allowPrivilegeEscalation != false (container "c" must set '
        "securityContext.allowPrivilegeEscalation=false), "
        'unrestricted capabilities (container "c" must set '
        'securityContext.capabilities.drop=["ALL"]), '
        'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
        'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to '
        '"RuntimeDefault" or "Localhost")'
    )


def test_a_pod_that_needs_nothing_is_restricted() -> None:
    assert violations(SecurityLevel("restricted"), {}, GOOD) == ""
    root = GOOD | {"securityContext": GOOD["securityContext"] | {"runAsUser": 0}}
    assert "runAsUser=0" in violations(SecurityLevel("restricted"), {}, root)
    mounted = GOOD | {"volumes": [{"name": "a", "nfs": {}}]}
    assert 'volume "a" uses restricted volume type "nfs"' in violations(
        SecurityLevel("restricted"), {}, mounted
    )


def test_a_pod_is_refused_in_a_namespace_that_enforces() -> None:
    pod = an_object("Pod", spec=a_container())
    with pytest.raises(ApiError, match=r"violates PodSecurity .restricted:v1\.30"):
        check(a_request(pod, a_namespace(enforce="restricted", enforce_version="v1.30")))
    check(a_request(pod, a_namespace(enforce="baseline")))
    check(a_request(pod, a_namespace()))


def test_a_level_that_cannot_be_read_is_the_strictest() -> None:
    with pytest.raises(ApiError, match="restricted:latest"):
        check(a_request(an_object("Pod", spec=a_container()), a_namespace(enforce="strict")))


async def test_clients_are_warned_of_pods_and_of_templates(api: Api) -> None:
    labels = {f"{PREFIX}warn": "restricted"}
    await api.ask("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": labels}})
    containers = [{"name": "c", "image": "i"}]
    pod = {"metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {"containers": containers}}
    workload = {
        "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod},
    }

    for path, body in (
        ("/api/v1/namespaces/default/pods", pod),
        ("/apis/apps/v1/namespaces/default/deployments", workload),
    ):
        reply = await api.ask("POST", path, body)
        assert reply.status == 201
        assert any("would violate PodSecurity" in warning for warning in reply.warnings), path


async def test_labels_that_name_no_level_are_refused(api: Api) -> None:
    labels = {f"{PREFIX}enforce": "strict", f"{PREFIX}audit-version": "1"}
    reply = await api.ask("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": labels}})

    assert reply.status == 422
    assert {cause["field"] for cause in reply.document["details"]["causes"]} == {
        f"metadata.labels[{PREFIX}enforce]",
        f"metadata.labels[{PREFIX}audit-version]",
    }
