"""What kubectl changes: create, apply, diff, patch, replace, edit, scale, and what is refused."""

import stat
from pathlib import Path
from typing import Any

import pytest

from tests.kubectl.command import Kubectl
from tests.kubectl.manifests import CLASS, claim, pod, stateful_set


def named(document: dict[str, Any], name: str, **metadata: Any) -> dict[str, Any]:
    return {**document, "metadata": {"name": name, **metadata}}


def test_apply_changes_what_differs_and_removes_what_was_dropped(kubectl: Kubectl) -> None:
    first = named(stateful_set(), "web", labels={"tier": "gold", "old": "yes"})
    second = named(stateful_set(replicas=5), "web", labels={"tier": "silver"})
    kubectl("apply", "-f", "-", stdin=first)
    kubectl("scale", "statefulset", "web", "--replicas=4")

    assert "configured" in kubectl("apply", "-f", "-", stdin=second)

    found = kubectl.json("get", "sts", "web")
    assert found["metadata"]["labels"] == {"tier": "silver"}
    assert found["spec"]["replicas"] == 5


def test_apply_keeps_what_others_have_set(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=named(claim(), "data", labels={"mine": "1"}))
    kubectl("label", "pvc", "data", "theirs=2")
    kubectl("apply", "-f", "-", stdin=named(claim(), "data", labels={"mine": "3"}))
    assert kubectl.json("get", "pvc", "data")["metadata"]["labels"] == {"mine": "3", "theirs": "2"}


def test_containers_are_merged_by_name(kubectl: Kubectl) -> None:
    first = stateful_set()
    kubectl("apply", "-f", "-", stdin=named(first, "web"))
    sidecar = '{"spec":{"template":{"spec":{"containers":[{"name":"log","image":"log:1"}]}}}}'
    kubectl("patch", "sts", "web", "-p", sidecar)
    images = "jsonpath={.spec.template.spec.containers[*].image}"
    assert kubectl("get", "sts", "web", "-o", images) == "log:1 registry.k8s.io/pause:3.10"
    kubectl("set", "image", "sts/web", "main=pause:4")
    assert kubectl("get", "sts", "web", "-o", images) == "log:1 pause:4"


def test_diff_shows_the_difference_and_changes_nothing(kubectl: Kubectl) -> None:
    manifest = named(stateful_set(), "web")
    kubectl("apply", "-f", "-", stdin=manifest)
    assert kubectl.run("diff", "-f", "-", stdin=manifest).returncode == 0

    ended = kubectl.run("diff", "-f", "-", stdin=named(stateful_set(replicas=7), "web"))

    assert ended.returncode == 1
    assert "-  replicas: 2" in ended.stdout
    assert "+  replicas: 7" in ended.stdout
    assert kubectl.json("get", "sts", "web")["spec"]["replicas"] == 2


def test_a_dry_run_on_the_server_shows_defaults_and_keeps_nothing(kubectl: Kubectl) -> None:
    words = ["apply", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.volumeMode}"]
    assert kubectl(*words, stdin=named(claim(), "data")) == "Filesystem"
    assert "NotFound" in kubectl.refused("get", "pvc", "data")


@pytest.mark.parametrize(
    ("form", "patch"),
    [
        pytest.param("merge", '{"metadata":{"labels":{"a":"2","b":null}}}', id="merge"),
        pytest.param("strategic", '{"metadata":{"labels":{"a":"2","b":null}}}', id="strategic"),
        pytest.param(
            "json",
            '[{"op":"test","path":"/metadata/labels/a","value":"1"},'
            '{"op":"replace","path":"/metadata/labels/a","value":"2"},'
            '{"op":"remove","path":"/metadata/labels/b"}]',
            id="json",
        ),
    ],
)
def test_a_patch_of_each_form_has_the_same_effect(form: str, patch: str, kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(claim(), "data", labels={"a": "1", "b": "1"}))
    assert "patched" in kubectl("patch", "pvc", "data", f"--type={form}", "-p", patch)
    assert kubectl.json("get", "pvc", "data")["metadata"]["labels"] == {"a": "2"}
    again = '{"metadata":{"labels":{"a":"2"}}}'
    assert "no change" in kubectl("patch", "pvc", "data", "--type=merge", "-p", again)


def test_replace_wants_the_version_that_was_read(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(claim(), "data"))
    read = kubectl.json("get", "pvc", "data")
    read["metadata"]["labels"] = {"replaced": "yes"}
    assert "replaced" in kubectl("replace", "-f", "-", stdin=read)
    assert "Conflict" in kubectl.refused("replace", "-f", "-", stdin=read)


def test_replace_by_force_makes_a_new_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(stateful_set(), "web"))
    uid = kubectl("get", "sts", "web", "-o", "jsonpath={.metadata.uid}")
    kubectl("replace", "--force", "-f", "-", stdin=named(stateful_set(serviceName="db"), "web"))
    found = kubectl.json("get", "sts", "web")
    assert found["spec"]["serviceName"] == "db"
    assert found["metadata"]["uid"] != uid


def test_edit_sends_what_the_editor_saved(kubectl: Kubectl, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/replicas: 2/replicas: 3/" "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    kubectl("create", "-f", "-", stdin=named(stateful_set(), "web"))
    assert "edited" in kubectl("edit", "sts", "web", editor=str(editor))
    assert kubectl.json("get", "sts", "web")["spec"]["replicas"] == 3


def test_labels_and_annotations_are_replaced_only_when_told(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(pod(), "p", labels={"a": "1"}))
    assert "already has a value" in kubectl.refused("label", "pod", "p", "a=2")
    kubectl("label", "pod", "p", "a=2", "b=3", "--overwrite")
    kubectl("label", "pod", "p", "b-")
    kubectl("annotate", "pods", "--all", "seen=yes")
    found = kubectl.json("get", "pod", "p")["metadata"]
    assert (found["labels"], found["annotations"]) == ({"a": "2"}, {"seen": "yes"})


def test_a_stateful_set_is_scaled_if_it_is_as_large_as_thought(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(stateful_set(), "web"))
    assert "scaled" in kubectl("scale", "sts/web", "--replicas=6", "--current-replicas=2")
    complaint = kubectl.refused("scale", "sts/web", "--replicas=1", "--current-replicas=2")
    assert "Expected replicas to be 2, was 6" in complaint
    assert kubectl.json("get", "sts", "web")["spec"]["replicas"] == 6


def test_nodes_are_cordoned_and_tainted(kubectl: Kubectl) -> None:
    node = kubectl.namespace
    kubectl("create", "-f", "-", stdin={"apiVersion": "v1", **named({"kind": "Node"}, node)})
    kubectl("cordon", node)
    assert "SchedulingDisabled" in kubectl("get", "node", node)
    kubectl("uncordon", node)
    assert "SchedulingDisabled" not in kubectl("get", "node", node)

    kubectl("taint", "node", node, "disk=slow:NoSchedule")
    assert "disk=slow:NoSchedule" in kubectl("describe", "node", node)
    kubectl("taint", "node", node, "disk-")
    assert kubectl("get", "node", node, "-o", "jsonpath={.spec.taints}") == ""


def test_create_makes_simple_things_from_words(kubectl: Kubectl, tmp_path: Path) -> None:
    file = tmp_path / "motd"
    file.write_text("hello\n")
    kubectl("create", "configmap", "settings", "--from-literal=a=1", f"--from-file={file}")
    assert kubectl.json("get", "cm", "settings")["data"] == {"a": "1", "motd": "hello\n"}
    kubectl("create", "secret", "generic", "key", "--from-literal=password=x")
    assert kubectl("get", "secret", "key", "-o", "jsonpath={.data.password}") == "eA=="
    kubectl("run", "idle", "--image=pause:1", "--restart=Never")
    assert kubectl("get", "pod", "idle", "-o", "jsonpath={.spec.restartPolicy}") == "Never"
    kubectl("create", "priorityclass", kubectl.namespace, "--value=1000")
    kubectl("create", "quota", "few", "--hard=persistentvolumeclaims=1")
    assert "already exists" in kubectl.refused("create", "configmap", "settings")


def test_quota_refuses_the_claim_that_is_too_many(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(claim(), "first"))
    kubectl("create", "quota", "storage", "--hard=requests.storage=1Gi")
    # Without a controller the test writes the use itself; with one, it is the same.
    status = '{"status":{"hard":{"requests.storage":"1Gi"},"used":{"requests.storage":"1Gi"}}}'
    kubectl("patch", "quota", "storage", "--subresource=status", "--type=merge", "-p", status)
    complaint = kubectl.refused("create", "-f", "-", stdin=named(claim(), "second"))
    assert "exceeded quota: storage" in complaint
    assert "1Gi" in kubectl("describe", "quota", "storage")


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        pytest.param(
            named(claim(accessModes=[]), "data"), "spec.accessModes: Required value", id="required"
        ),
        pytest.param(
            named(claim(accessModes=["Sometimes"]), "data"),
            'spec.accessModes: Unsupported value: "Sometimes"',
            id="unsupported",
        ),
        pytest.param(named(claim(), "Data_1"), "metadata.name: Invalid value", id="name"),
        pytest.param(
            named(claim(resources={"requests": {"storage": "much"}}), "data"),
            "quantities must match",
            id="quantity",
        ),
        pytest.param(named(claim(colour="red"), "data"), 'unknown field "spec.colour"', id="field"),
        pytest.param(
            named(pod(containers=[]), "p"), "spec.containers: Required value", id="containers"
        ),
        pytest.param(
            named({**CLASS, "volumeBindingMode": "Late"}, "c"),
            'volumeBindingMode: Unsupported value: "Late"',
            id="binding-mode",
        ),
    ],
)
def test_a_bad_manifest_is_refused_with_its_field(
    manifest: dict[str, Any], complaint: str, kubectl: Kubectl
) -> None:
    assert complaint in kubectl.refused("apply", "-f", "-", stdin=manifest)


def test_what_cannot_change_is_refused_with_its_field(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=named(claim(), "data"))
    changed = named(claim(storageClassName="slow"), "data")
    complaint = kubectl.refused("apply", "-f", "-", stdin=changed)
    assert 'PersistentVolumeClaim "data" is invalid' in complaint
    assert "spec is immutable" in complaint
