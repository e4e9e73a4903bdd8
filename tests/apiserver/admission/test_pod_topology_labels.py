import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.pod_topology_labels import admit
from tests.apiserver.admission.requests import a_request, an_object
from tests.apiserver.api import Api

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
PODS = "/api/v1/namespaces/default/pods"
CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}


def a_node(**labels: str) -> Document:
    node = an_object("Node", "n")
    node["metadata"]["labels"] = labels
    return node


def labels_of(pod: Document) -> Document:
    admit(a_request(pod, a_node(**{ZONE: "a", REGION: "r", "other": "x"})))
    labels: Document = pod["metadata"].get("labels", {})
    return labels


def test_a_pod_that_comes_with_its_node_gets_zone_and_region() -> None:
    assert labels_of(an_object("Pod", spec={"nodeName": "n"})) == {ZONE: "a", REGION: "r"}


def test_the_node_is_right_where_the_pod_says_something_else() -> None:
    pod = an_object("Pod", spec={"nodeName": "n"})
    pod["metadata"]["labels"] = {ZONE: "b", "app": "web"}
    assert labels_of(pod) == {ZONE: "a", REGION: "r", "app": "web"}


@pytest.mark.parametrize("spec", [{}, {"nodeName": "unknown"}])
def test_without_a_node_that_is_known_nothing_changes(spec: Document) -> None:
    assert labels_of(an_object("Pod", spec=spec)) == {}


async def test_a_pod_gets_its_zone_when_it_is_bound(api: Api) -> None:
    labels = {ZONE: "a", "other": "x"}
    await api.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": labels}})
    await api.ask("POST", PODS, {"metadata": {"name": "a"}, "spec": CONTAINERS})
    binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
    assert (await api.ask("POST", f"{PODS}/a/binding", binding)).status == 201
    bound = await api.ask("GET", f"{PODS}/a")
    assert bound.document["metadata"]["labels"] == {ZONE: "a"}
