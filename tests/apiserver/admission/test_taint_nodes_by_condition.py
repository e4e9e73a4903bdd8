from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.taint_nodes_by_condition import admit
from tests.apiserver.admission.requests import a_request, an_object

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
OTHER = {"key": "other", "effect": "NoSchedule"}


def taints_of(*given: Document) -> list[Document]:
    node = an_object("Node", spec={"taints": list(given)} if given else {})
    admit(a_request(node))
    taints: list[Document] = node["spec"]["taints"]
    return taints


def test_a_new_node_takes_no_pods_before_it_was_found_ready() -> None:
    assert taints_of() == [NOT_READY]
    assert taints_of(OTHER) == [OTHER, NOT_READY]


def test_a_node_that_says_so_itself_is_not_tainted_twice() -> None:
    own = NOT_READY | {"value": "x"}
    assert taints_of(own) == [own]


def test_an_update_does_not_bring_the_taint_back() -> None:
    node = an_object("Node", spec={})
    admit(a_request(node, old=an_object("Node", spec={})))
    assert node["spec"] == {}
