from collections import Counter
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.rules import RULES
from plimsoll.apiserver.model.kinds.pods.scheduling.affinity import REQUIRED
from tests.apiserver.model.kinds.pods.objects import a_container, a_stored_pod, causes, changed


def refusals(old: Document, **spec: Any) -> Counter[tuple[str, str]]:
    return causes(RULES.validate_update(changed(old, **spec), old))


def an_image(pod: Document, image: str) -> list[Document]:
    return [pod["spec"]["containers"][0] | {"image": image}]


def a_node_affinity(*values: str) -> Document:
    expressions = [{"key": value, "operator": "Exists"} for value in values]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}


def test_the_image_may_change() -> None:
    pod = a_stored_pod()

    assert not refusals(pod, containers=an_image(pod, "busybox:2"))
    assert refusals(pod, containers=an_image(pod, "")) == {
        ("Required", "spec.containers[0].image"): 1
    }


def test_containers_may_not_come_or_go() -> None:
    pod = a_stored_pod()
    more = [*pod["spec"]["containers"], pod["spec"]["containers"][0] | {"name": "d"}]

    assert refusals(pod, containers=more) == {("Forbidden", "spec.containers"): 1}


@pytest.mark.parametrize(
    "change",
    [{"nodeName": "n"}, {"priority": 7}, {"schedulerName": "x"}, {"hostname": "x"}],
    ids=lambda change: next(iter(change)),
)
def test_nearly_everything_else_is_fixed(change: dict[str, Any]) -> None:
    assert refusals(a_stored_pod(), **change) == {("Forbidden", "spec"): 1}


def test_a_deadline_may_only_come_closer() -> None:
    pod = a_stored_pod(activeDeadlineSeconds=100)
    path = "spec.activeDeadlineSeconds"

    assert not refusals(pod, activeDeadlineSeconds=50)
    assert refusals(pod, activeDeadlineSeconds=200) == {("Invalid", path): 1}
    assert refusals(pod, activeDeadlineSeconds=None) == {("Invalid", path): 1}
    assert refusals(a_stored_pod(), activeDeadlineSeconds=-1) == {("Invalid", path): 2}


def test_gates_may_only_be_removed() -> None:
    pod = a_stored_pod(schedulingGates=[{"name": "a"}, {"name": "b"}])

    assert not refusals(pod, schedulingGates=[{"name": "b"}])
    assert refusals(pod, schedulingGates=[{"name": "b"}, {"name": "c"}]) == {
        ("Forbidden", "spec.schedulingGates[1].name"): 1
    }


def test_while_gates_hold_it_a_pod_may_become_choosier() -> None:
    gated = a_stored_pod(
        schedulingGates=[{"name": "a"}], nodeSelector={"a": "b"}, affinity=a_node_affinity("x")
    )

    assert not refusals(
        gated, nodeSelector={"a": "b", "c": "d"}, affinity=a_node_affinity("x", "y")
    )
    assert refusals(gated, nodeSelector={"a": "z"}) == {("Invalid", "spec.nodeSelector"): 1}
    assert refusals(gated, affinity=a_node_affinity("y")) == {
        ("Invalid", f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"): 1
    }
    assert refusals(a_stored_pod(), nodeSelector={"a": "b"}) == {("Forbidden", "spec"): 1}


def test_a_faulty_change_is_complained_about_once() -> None:
    pod = a_stored_pod()
    bad = [{"key": "a", "operator": "Like"}]

    assert refusals(pod, tolerations=bad) == {("NotSupported", "spec.tolerations[0].operator"): 1}


def test_debug_containers_come_in_by_another_door() -> None:
    assert refusals(
        a_stored_pod(),
        ephemeralContainers=[
            a_container("e", imagePullPolicy="Always", terminationMessagePolicy="File")
        ],
    ) == {("Forbidden", "spec"): 1}
