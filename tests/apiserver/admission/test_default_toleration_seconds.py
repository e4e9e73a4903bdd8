import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.default_toleration_seconds import admit
from tests.apiserver.admission.requests import a_request, an_object

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def a_default(key: str) -> Document:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def tolerations_after(*given: Document) -> list[Document]:
    pod = an_object("Pod", spec={"tolerations": list(given)} if given else {})
    admit(a_request(pod))
    found: list[Document] = pod["spec"]["tolerations"]
    return found


def test_a_pod_outlives_a_node_that_is_away_for_five_minutes() -> None:
    assert tolerations_after() == [a_default(NOT_READY), a_default(UNREACHABLE)]


def test_what_the_pod_says_itself_is_kept() -> None:
    own = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}

    assert tolerations_after(own) == [own, a_default(NOT_READY)]


@pytest.mark.parametrize("effect", [{}, {"effect": "NoExecute"}], ids=["any-effect", "no-execute"])
def test_a_pod_that_tolerates_everything_needs_nothing_more(effect: dict[str, str]) -> None:
    everything = {"operator": "Exists"} | effect

    assert tolerations_after(everything) == [everything]


def test_tolerations_that_were_removed_come_back() -> None:
    old = an_object("Pod", spec={"tolerations": [a_default(NOT_READY), a_default(UNREACHABLE)]})
    new = an_object("Pod", spec={})

    admit(a_request(new, old=old))

    assert new["spec"] == old["spec"]
