import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.persistent_volume_claim_resize import check
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_claim, a_request, an_object

EXPANDABLE = an_object("StorageClass", "fast", allowVolumeExpansion=True)
FIXED = an_object("StorageClass", "fast")


def test_a_bound_claim_grows_if_its_class_allows_it() -> None:
    check(a_request(a_claim(size="2Gi"), EXPANDABLE, old=a_claim(size="1Gi")))


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([FIXED], id="class-says-no"),
        pytest.param([], id="class-is-gone"),
    ],
)
def test_a_claim_does_not_grow_without_leave_of_its_class(objects: list[Document]) -> None:
    with pytest.raises(ApiError, match="must support resize") as refused:
        check(a_request(a_claim(size="2Gi"), *objects, old=a_claim(size="1Gi")))

    assert refused.value.code == 403


def test_a_claim_without_a_class_does_not_grow() -> None:
    grown, before = (a_claim(size=size, storage_class="") for size in ("2Gi", "1Gi"))

    with pytest.raises(ApiError, match="must support resize"):
        check(a_request(grown, EXPANDABLE, old=before))


def test_a_pending_claim_does_not_grow() -> None:
    pending = a_claim(size="1Gi") | {"status": {"phase": "Pending"}}

    with pytest.raises(ApiError, match="Only bound"):
        check(a_request(a_claim(size="2Gi"), EXPANDABLE, old=pending))


def test_claims_that_do_not_grow_and_other_requests_pass() -> None:
    grown = a_claim(size="2Gi")

    check(a_request(a_claim(size="1024Mi"), old=a_claim(size="1Gi")))
    check(a_request(grown, old=a_claim(), subresource="status"))
    check(a_request(grown))
