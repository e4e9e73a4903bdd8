import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.runtime_class import admit, check
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_request, an_object

OVERHEAD = {"cpu": "100m"}


def a_class(**fields: object) -> Document:
    return an_object("RuntimeClass", "sandboxed", handler="h", **fields)


def a_pod(**spec: object) -> Document:
    return an_object("Pod", "web", spec={"runtimeClassName": "sandboxed"} | spec)


def admitted(pod: Document, *classes: Document) -> Document:
    admit(a_request(pod, *classes))
    check(a_request(pod, *classes))
    spec: Document = pod["spec"]
    return spec


def test_a_pod_gets_the_overhead_and_the_nodes_of_its_class() -> None:
    chosen = a_class(
        overhead={"podFixed": OVERHEAD},
        scheduling={"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]},
    )

    spec = admitted(a_pod(nodeSelector={"c": "d"}), chosen)

    assert spec["overhead"] == OVERHEAD
    assert spec["nodeSelector"] == {"a": "b", "c": "d"}
    assert spec["tolerations"] == [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("pod", "classes"),
    [
        pytest.param(a_pod(), [], id="no-such-class"),
        pytest.param(
            a_pod(overhead={"cpu": "1"}), [a_class(overhead={"podFixed": OVERHEAD})], id="overhead"
        ),
        pytest.param(
            a_pod(nodeSelector={"a": "z"}),
            [a_class(scheduling={"nodeSelector": {"a": "b"}})],
            id="other-nodes",
        ),
        pytest.param(a_pod(overhead=OVERHEAD), [a_class()], id="overhead-of-its-own"),
    ],
)
def test_a_pod_that_contradicts_its_class_is_refused(
    pod: Document, classes: list[Document]
) -> None:
    with pytest.raises(ApiError) as refusal:
        admitted(pod, *classes)

    assert refusal.value.code == 403


def test_pods_without_a_class_are_left_alone() -> None:
    assert admitted(an_object("Pod", spec={})) == {}
