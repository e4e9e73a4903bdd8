"""How objects go away, and how kubectl waits for what becomes of them."""

import json
from typing import Any

import pytest

from tests.kubectl.command import Kubectl
from tests.kubectl.manifests import claim, pod, stateful_set

NO_FINALIZERS = '{"metadata":{"finalizers":null}}'


def named(document: dict[str, Any], name: str, **metadata: Any) -> dict[str, Any]:
    return {**document, "metadata": {"name": name, **metadata}}


def test_delete_waits_until_finalizers_are_gone(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(claim(), "data"))
    with kubectl.start("delete", "pvc", "data") as deleting:
        assert "deleted" in deleting.line()
        assert "Terminating" in kubectl("get", "pvc", "data")
        assert deleting.is_running()
        kubectl("patch", "pvc", "data", "--type=merge", "-p", NO_FINALIZERS)
        assert deleting.ends() == 0
    assert "NotFound" in kubectl.refused("get", "pvc", "data")


def test_delete_can_leave_without_waiting_or_give_up(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(claim(), "data"))
    kubectl("delete", "pvc", "data", "--wait=false")
    assert "timed out" in kubectl.refused("delete", "pvc", "data", "--timeout=1s")
    assert kubectl.json("get", "pvc", "data")["metadata"]["deletionTimestamp"]


def test_many_are_deleted_by_label_or_all_at_once(kubectl: Kubectl) -> None:
    for name, colour in {"a": "red", "b": "blue", "c": "red"}.items():
        kubectl("create", "configmap", name)
        kubectl("label", "configmap", name, f"colour={colour}")
    kubectl("delete", "configmaps", "-l", "colour=red")
    assert kubectl("get", "cm", "-l", "colour", "-o", "name").split() == ["configmap/b"]
    kubectl("delete", "configmaps", "--all")
    assert kubectl("get", "cm", "-l", "colour", "-o", "name") == ""
    kubectl("delete", "configmap", "b", "--ignore-not-found")


@pytest.mark.parametrize(
    ("cascade", "finalizer"),
    [
        pytest.param("orphan", "orphan", id="orphan"),
        pytest.param("foreground", "foregroundDeletion", id="foreground"),
    ],
)
def test_dependents_are_left_to_the_garbage_collector(
    cascade: str, finalizer: str, kubectl: Kubectl
) -> None:
    kubectl("create", "-f", "-", stdin=named(stateful_set(), "web"))
    kubectl("delete", "sts", "web", f"--cascade={cascade}", "--wait=false")
    found = kubectl.run("get", "sts", "web", "-o", "jsonpath={.metadata.finalizers}")
    # A server with a garbage collector of its own may have been quicker.
    assert finalizer in found.stdout or "NotFound" in found.stderr


def test_a_running_pod_has_its_grace_period(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(pod(nodeName="n1"), "p"))
    kubectl("delete", "pod", "p", "--wait=false", "--grace-period=40")
    found = kubectl.json("get", "pod", "p")["metadata"]
    assert found["deletionGracePeriodSeconds"] == 40
    assert "Terminating" in kubectl("get", "pod", "p")
    kubectl("delete", "pod", "p", "--grace-period=0", "--force")
    assert "NotFound" in kubectl.refused("get", "pod", "p")


def test_wait_sees_conditions_phases_and_deletion(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(pod(), "p"))
    assert "timed out" in kubectl.refused(
        "wait", "pod/p", "--for=condition=Ready", "--timeout=500ms"
    )
    with kubectl.start("wait", "pod/p", "--for=condition=Ready", "--timeout=30s") as waiting:
        status = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
        kubectl("patch", "pod", "p", "--subresource=status", "-p", status)
        assert waiting.ends() == 0
    kubectl("wait", "pod/p", "--for=jsonpath={.status.phase}=Running", "--timeout=10s")
    with kubectl.start("wait", "pod/p", "--for=delete", "--timeout=30s") as waiting:
        kubectl("delete", "pod", "p", "--grace-period=0", "--force")
        assert waiting.ends() == 0


def test_rollout_status_ends_when_all_replicas_are_ready(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(stateful_set(), "web"))
    with kubectl.start("rollout", "status", "sts/web", "--timeout=30s") as waiting:
        assert "Waiting for" in waiting.line()
        done = (
            '{"status":{"observedGeneration":1,"replicas":2,"readyReplicas":2,'
            '"updatedReplicas":2,"availableReplicas":2,'
            '"currentRevision":"r1","updateRevision":"r1"}}'
        )
        kubectl("patch", "sts", "web", "--subresource=status", "--type=merge", "-p", done)
        assert waiting.ends() == 0


def test_drain_evicts_what_the_budget_allows(kubectl: Kubectl) -> None:
    node = f"{kubectl.namespace}-node"
    kubectl("create", "-f", "-", stdin=named({"apiVersion": "v1", "kind": "Node"}, node))
    running = named(pod(nodeName=node), "web", labels={"app": "web"})
    kubectl("create", "-f", "-", stdin=running)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    _patch_status(kubectl, "pod/web", ready)
    kubectl("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=1")
    counted = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1}
    _patch_status(kubectl, "pdb/web", counted | {"disruptionsAllowed": 0, "expectedPods": 1})
    drain = ("drain", node, "--force", "--grace-period=0", "--pod-selector=app=web")

    refused = kubectl.refused(*drain, "--timeout=2s")
    assert "violate the pod's disruption budget" in refused

    _patch_status(kubectl, "pdb/web", {"disruptionsAllowed": 1, "currentHealthy": 2})
    assert "pod/web evicted" in kubectl(*drain, "--timeout=30s")
    assert "NotFound" in kubectl.refused("get", "pod", "web")


def _patch_status(kubectl: Kubectl, what: str, status: dict[str, Any]) -> None:
    patch = json.dumps({"status": status})
    kubectl("patch", what, "--subresource=status", "--type=merge", "-p", patch)
