import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.admission.priority import admit, check
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_request, an_object


def a_class(name: str, value: int, **fields: object) -> Document:
    policy = {"preemptionPolicy": "PreemptLowerPriority"}
    return an_object("PriorityClass", name, **({"value": value} | policy | fields))


def a_pod(**spec: object) -> Document:
    return an_object("Pod", "web", spec=dict(spec))


def admitted(pod: Document, *classes: Document) -> Document:
    admit(a_request(pod, *classes))
    spec: Document = pod["spec"]
    return spec


def test_a_pod_without_a_class_has_priority_zero() -> None:
    assert admitted(a_pod()) == {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}


def test_a_pod_has_the_priority_of_its_class() -> None:
    high = a_class("high", 1000, preemptionPolicy="Never")

    assert admitted(a_pod(priorityClassName="high"), high) == {
        "priorityClassName": "high",
        "priority": 1000,
        "preemptionPolicy": "Never",
    }


def test_a_pod_without_a_class_gets_the_lowest_default_class() -> None:
    defaults = [a_class("a", 5, globalDefault=True), a_class("b", 3, globalDefault=True)]

    assert admitted(a_pod(), *defaults)["priorityClassName"] == "b"


@pytest.mark.parametrize(
    "spec",
    [{"priority": 5}, {"preemptionPolicy": "Never"}, {"priorityClassName": "none"}],
    ids=["own-priority", "own-policy", "unknown-class"],
)
def test_a_pod_does_not_decide_about_its_priority(spec: dict[str, object]) -> None:
    with pytest.raises(ApiError) as refusal:
        admitted(a_pod(**spec))

    assert (refusal.value.code, refusal.value.details) == (403, {"name": "web", "kind": "pods"})


def test_an_update_that_leaves_the_priority_out_keeps_it() -> None:
    pod, old = a_pod(), a_pod(priority=7, preemptionPolicy="Never")

    admit(a_request(pod, old=old))

    assert pod["spec"] == old["spec"]


def test_subresources_and_other_kinds_are_left_alone() -> None:
    pod, claim = a_pod(), an_object("PersistentVolumeClaim", spec={})

    admit(a_request(pod, subresource="status", operation=Operation.UPDATE))
    admit(a_request(claim))

    assert (pod["spec"], claim["spec"]) == ({}, {})


def test_there_is_one_default_class() -> None:
    first, second = a_class("a", 1, globalDefault=True), a_class("b", 2, globalDefault=True)

    check(a_request(first, first, old=first))
    check(a_request(a_class("c", 3), first))
    with pytest.raises(ApiError) as refusal:
        check(a_request(second, first))

    assert refusal.value.code == 403
