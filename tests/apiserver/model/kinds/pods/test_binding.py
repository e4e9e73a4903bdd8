from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.binding import bind
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.model.kinds.pods.objects import LATER, a_stored_pod


def a_binding(node: str = "n1", **meta: Any) -> Document:
    return {"metadata": {"name": "web"} | meta, "target": {"kind": "Node", "name": node}}


def refused(pod: Document, binding: Document) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        bind(pod, binding, LATER)
    return refusal.value


def test_a_bound_pod_has_a_node_and_says_that_it_is_scheduled() -> None:
    pod = a_stored_pod()

    bound = bind(pod, a_binding(), LATER)

    assert bound["spec"]["nodeName"] == "n1"
    assert bound["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-02T04:00:00Z",
        }
    ]
    assert "nodeName" not in pod["spec"]


def test_annotations_and_labels_of_the_binding_are_added() -> None:
    pod = a_stored_pod(meta={"annotations": {"a": "1"}})

    bound = bind(pod, a_binding(annotations={"b": "2"}, labels={"zone": "z"}), LATER)

    assert bound["metadata"]["annotations"] == {"a": "1", "b": "2"}
    assert bound["metadata"]["labels"] == {"zone": "z"}


def test_a_nomination_is_over_when_the_pod_has_a_node() -> None:
    pod = a_stored_pod()
    pod["status"]["nominatedNodeName"] = "n2"

    assert "nominatedNodeName" not in bind(pod, a_binding(), LATER)["status"]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_stored_pod(nodeName="n1"), id="bound-already"),
        pytest.param(
            a_stored_pod(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}), id="deleting"
        ),
        pytest.param(a_stored_pod(schedulingGates=[{"name": "g"}]), id="gated"),
    ],
)
def test_a_pod_that_cannot_go_anywhere_is_a_conflict(pod: Document) -> None:
    error = refused(pod, a_binding())

    assert (error.code, error.reason) == (409, "Conflict")
    assert error.details == {"name": "web", "kind": "pods/binding"}


def test_a_binding_for_an_older_pod_of_that_name_is_a_conflict() -> None:
    error = refused(a_stored_pod(meta={"uid": "new"}), a_binding(uid="old"))

    assert (error.code, error.details) == (409, {"name": "web", "kind": "pods"})


@pytest.mark.parametrize(
    "target", [{}, {"kind": "Node"}, {"kind": "Pod", "name": "x"}], ids=["none", "noname", "pod"]
)
def test_a_target_must_be_a_node(target: Document) -> None:
    assert refused(a_stored_pod(), a_binding() | {"target": target}).code == 422


def test_the_binding_names_the_pod() -> None:
    assert refused(a_stored_pod(), a_binding(name="other")).code == 400
