from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.admission.default_storage_class import admit
from tests.apiserver.admission.requests import a_request, an_object

MARK = "storageclass.kubernetes.io/is-default-class"
OLD_MARK = "storageclass.beta.kubernetes.io/is-default-class"


def a_class(name: str, created: str = "2026-01-01T00:00:00Z", mark: str = MARK) -> Document:
    storage_class = an_object("StorageClass", name)
    storage_class["metadata"] |= {"annotations": {mark: "true"}, "creationTimestamp": created}
    return storage_class


def chosen_class(claim: Document, *classes: Document) -> str | None:
    admit(a_request(claim, *classes))
    found: str | None = claim["spec"].get("storageClassName")
    return found


def an_open_claim(**spec: object) -> Document:
    return an_object("PersistentVolumeClaim", spec=dict(spec))


def test_a_claim_without_a_class_gets_the_newest_default_class() -> None:
    older = a_class("b", "2026-01-01T00:00:00Z")
    newer = a_class("c", "2026-01-02T00:00:00Z", OLD_MARK)
    plain = an_object("StorageClass", "a")

    assert chosen_class(an_open_claim(), older, newer, plain) == "c"


def test_of_equally_new_classes_the_first_by_name_is_taken() -> None:
    assert chosen_class(an_open_claim(), a_class("b"), a_class("a")) == "a"


def test_without_a_default_class_the_claim_stays_as_it_is() -> None:
    assert chosen_class(an_open_claim(), an_object("StorageClass", "a")) is None


def test_a_class_that_was_asked_for_is_kept_even_if_it_is_none() -> None:
    by_annotation = an_open_claim()
    by_annotation["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "z"}

    assert chosen_class(an_open_claim(storageClassName="own"), a_class("a")) == "own"
    assert chosen_class(an_open_claim(storageClassName=""), a_class("a")) == ""
    assert chosen_class(by_annotation, a_class("a")) is None


def test_claims_that_exist_already_and_other_kinds_are_left_alone() -> None:
    claim, pod = an_open_claim(), an_object("Pod", spec={})

    admit(a_request(claim, a_class("a"), operation=Operation.UPDATE))
    admit(a_request(pod, a_class("a")))

    assert claim["spec"] == {}
    assert pod["spec"] == {}
