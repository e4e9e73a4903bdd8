"""What a resize may change, and what it leaves alone."""

from datetime import UTC, datetime
from typing import Any

import pytest

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.resize import prepare_resize
from plimsoll.apiserver.model.kinds.pods.rules import RULES

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def a_pod(**status: Any) -> Document:
    pod: Document = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "resources": {
                        "requests": {"cpu": "100m", "memory": "1Gi"},
                        "limits": {"memory": "2Gi"},
                    },
                }
            ],
            "initContainers": [{"name": "first", "image": "i"}],
        },
        "status": {"phase": "Running", "qosClass": "Burstable"} | status,
    }
    RULES.default(pod)
    return pod


def resources(pod: Document, kind: str = "requests") -> Document:
    found: Document = pod["spec"]["containers"][0]["resources"][kind]
    return found


def complaints(new: Document, old: Document) -> list[str]:
    prepare_resize(new, old, NOW)
    _, validate = RULES.for_update("resize")
    return [f"{error.field}: {error.message}" for error in validate(new, old)]


def test_cpu_and_memory_may_change() -> None:
    old = a_pod()
    new = clone(old)
    resources(new)["cpu"] = "200m"
    resources(new, "limits")["cpu"] = "400m"

    assert complaints(new, old) == []


def test_other_fields_are_taken_from_the_stored_pod() -> None:
    old = a_pod()
    new = clone(old)
    new["spec"]["containers"][0]["image"] = "other"
    new["spec"]["nodeName"] = "n1"
    new["status"] = {"phase": "Failed"}

    assert complaints(new, old) == []
    assert new == old


def changed(change: Any) -> Document:
    pod = a_pod()
    change(pod)
    return pod


@pytest.mark.parametrize(
    ("new", "said"),
    [
        pytest.param(
            changed(lambda pod: resources(pod).pop("cpu")),
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
            id="a-request-goes-away",
        ),
        pytest.param(
            changed(lambda pod: resources(pod).update({"ephemeral-storage": "1Gi"})),
            "spec: Forbidden: only cpu and memory resources are mutable",
            id="another-resource",
        ),
        pytest.param(
            changed(lambda pod: pod["spec"]["containers"][0].update(name="d")),
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on "
            "resize",
            id="another-name",
        ),
        pytest.param(
            changed(lambda pod: pod["spec"]["initContainers"].clear()),
            "spec.initContainers: Forbidden: initContainers may not be added or removed on resize",
            id="a-container-goes-away",
        ),
        pytest.param(
            changed(
                lambda pod: pod["spec"]["containers"][0].update(
                    resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
                )
            ),
            "spec: Forbidden: only cpu and memory resources are mutable",
            id="another-policy",
        ),
    ],
)
def test_nothing_else_may_change(new: Document, said: str) -> None:
    assert said in complaints(new, a_pod())


def test_the_quality_of_service_stays() -> None:
    old = a_pod(qosClass="Burstable")
    new = clone(old)
    amounts = {"cpu": "1", "memory": "2Gi"}
    everything = {"requests": amounts, "limits": amounts}
    new["spec"]["containers"][0]["resources"] = everything
    new["spec"]["initContainers"][0]["resources"] = everything

    (said,) = complaints(new, old)
    assert said.endswith("Pod QOS Class may not change as a result of resizing")


def test_a_node_that_does_not_report_resources_does_not_resize() -> None:
    old = a_pod(containerStatuses=[{"name": "c", "state": {"running": {}}}])
    new = clone(old)
    resources(new)["cpu"] = "200m"

    assert complaints(new, old) == [
        "spec: Forbidden: Pod running on node without support for resize"
    ]


@pytest.mark.parametrize(
    ("metadata", "spec", "said"),
    [
        (
            {"annotations": {"kubernetes.io/config.mirror": "x"}},
            {"nodeName": "n1"},
            "static pods cannot be resized",
        ),
        ({}, {"os": {"name": "windows"}}, "windows pods cannot be resized"),
    ],
)
def test_some_pods_cannot_be_resized_at_all(metadata: Document, spec: Document, said: str) -> None:
    old = a_pod()
    old["metadata"] |= metadata
    old["spec"] |= spec

    assert complaints(clone(old), old) == [f": Forbidden: {said}"]


def test_what_the_pod_has_as_a_whole_may_grow() -> None:
    old = a_pod()
    old["spec"]["resources"] = {"requests": {"cpu": "1"}}
    new = clone(old)
    new["spec"]["resources"]["requests"]["cpu"] = "2"
    assert complaints(new, old) == []

    gone = clone(old)
    del gone["spec"]["resources"]
    assert "spec.resources: Forbidden: pod-level resources cannot be removed" in complaints(
        gone, old
    )
