"""How the API says no."""

from plimsoll.api.registry import resources_by_path
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.status import (
    ApiError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
)

PODS = resources_by_path()["", "v1", "pods"]
CLASSES = resources_by_path()["storage.k8s.io", "v1", "storageclasses"]


def test_a_refusal_is_a_status_document() -> None:
    assert not_found(CLASSES, "fast").document == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'storageclasses.storage.k8s.io "fast" not found',
        "reason": "NotFound",
        "details": {"name": "fast", "group": "storage.k8s.io", "kind": "storageclasses"},
        "code": 404,
    }


def test_what_has_no_reason_or_details_does_not_show_them() -> None:
    document = ApiError(418, "", "short and stout").document
    assert "reason" not in document
    assert "details" not in document
    assert "details" not in bad_request("no").document


def test_a_name_that_is_taken_by_something_on_its_way_out_says_so() -> None:
    assert str(already_exists(PODS, "p")) == 'pods "p" already exists'
    assert str(already_exists(PODS, "p", deleting=True)).startswith("object is being deleted: ")


def test_a_conflict_is_told_in_the_name_of_the_resource_or_the_kind() -> None:
    by_resource = conflict(CLASSES, "fast", "too late")
    assert 'on storageclasses.storage.k8s.io "fast": too late' in str(by_resource)
    by_kind = conflict(CLASSES, "fast", "too late", by_kind=True)
    assert 'on StorageClass.storage.k8s.io "fast": too late' in str(by_kind)
    assert (by_kind.details or {})["kind"] == "StorageClass"


def test_a_policy_may_name_its_causes() -> None:
    cause = {"reason": "NamespaceTerminating"}
    assert (forbidden(PODS, "p", "closed", [cause]).details or {})["causes"] == [cause]
    assert "causes" not in (forbidden(PODS, "p", "closed").details or {})


def test_an_invalid_object_lists_every_complaint_once() -> None:
    errors = [
        FieldError.required("spec.a"),
        FieldError.required("spec.a"),
        FieldError.required("b"),
    ]
    error = invalid("storage.k8s.io", "StorageClass", "fast", errors)
    assert str(error) == (
        'StorageClass.storage.k8s.io "fast" is invalid: [spec.a: Required value, b: Required value]'
    )
    causes = (error.details or {})["causes"]
    assert [cause["field"] for cause in causes] == ["spec.a", "b"]
    assert {cause["reason"] for cause in causes} == {"FieldValueRequired"}
    assert str(invalid("", "Pod", "p", errors[:1])) == 'Pod "p" is invalid: spec.a: Required value'
