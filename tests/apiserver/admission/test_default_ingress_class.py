from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.default_ingress_class import admit
from tests.apiserver.admission.requests import a_request, an_object


def a_class(name: str, created: str, mark: str = "true") -> Document:
    found = an_object("IngressClass", name)
    found["metadata"]["annotations"] = {"ingressclass.kubernetes.io/is-default-class": mark}
    found["metadata"]["creationTimestamp"] = created
    return found


def test_an_ingress_without_a_class_gets_the_newest_default() -> None:
    ingress = an_object("Ingress", spec={})
    old, new = a_class("old", "2024-01-01T00:00:00Z"), a_class("new", "2025-01-01T00:00:00Z")
    admit(a_request(ingress, old, new, a_class("other", "2026-01-01T00:00:00Z", "false")))
    assert ingress["spec"] == {"ingressClassName": "new"}


def test_an_ingress_that_names_a_class_keeps_it() -> None:
    named = an_object("Ingress", spec={"ingressClassName": "mine"})
    older = an_object("Ingress", spec={})
    older["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "mine"}
    for ingress in (named, older):
        before = dict(ingress["spec"])
        admit(a_request(ingress, a_class("new", "2025-01-01T00:00:00Z")))
        assert ingress["spec"] == before
