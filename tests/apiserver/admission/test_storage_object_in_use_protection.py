import pytest

from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.admission.storage_object_in_use_protection import admit
from tests.apiserver.admission.requests import a_request, an_object


@pytest.mark.parametrize(
    ("kind", "finalizer"),
    [
        ("PersistentVolume", "kubernetes.io/pv-protection"),
        ("PersistentVolumeClaim", "kubernetes.io/pvc-protection"),
        ("VolumeAttributesClass", "kubernetes.io/vac-protection"),
    ],
)
def test_what_may_be_in_use_is_born_protected(kind: str, finalizer: str) -> None:
    document = an_object(kind)
    document["metadata"]["finalizers"] = ["a.b/c"]

    admit(a_request(document))
    admit(a_request(document))

    assert document["metadata"]["finalizers"] == ["a.b/c", finalizer]


def test_nothing_is_protected_again_later_nor_without_need() -> None:
    claim, pod = an_object("PersistentVolumeClaim"), an_object("Pod")

    admit(a_request(claim, operation=Operation.UPDATE))
    admit(a_request(pod))

    assert "finalizers" not in claim["metadata"] | pod["metadata"]
