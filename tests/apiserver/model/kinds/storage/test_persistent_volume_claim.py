from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.persistent_volume_claim import (
    CLASS_ANNOTATION,
    RULES,
    claim_class,
)
from tests.apiserver.model.kinds.storage.objects import NOW, a_bound_claim, a_claim, causes


def annotated(claim: Document, storage_class: str) -> Document:
    metadata = claim["metadata"] | {"annotations": {CLASS_ANNOTATION: storage_class}}
    return claim | {"metadata": metadata}


def without_class(claim: Document) -> Document:
    spec = {key: value for key, value in claim["spec"].items() if key != "storageClassName"}
    return claim | {"spec": spec}


def storage(size: str, **limits: str) -> Document:
    return {"requests": {"storage": size}} | ({"limits": limits} if limits else {})


def test_a_new_claim_is_pending_whatever_the_client_says() -> None:
    claim = a_bound_claim()

    RULES.prepare_create(claim, NOW)

    assert claim["status"] == {"phase": "Pending"}


def test_a_claim_keeps_its_status_when_its_spec_is_written() -> None:
    claim = a_claim() | {"status": {"phase": "Lost"}}

    RULES.prepare_update(claim, a_bound_claim(), NOW)

    assert claim["status"] == a_bound_claim()["status"]


@pytest.mark.parametrize(
    ("changes", "complaints"),
    [
        pytest.param({"volumeName": "pv-1"}, {}, id="a-volume"),
        pytest.param({"resources": storage("1048576Ki")}, {}, id="the-same-size-said-otherwise"),
        pytest.param({"resources": storage("2Gi")}, {("Forbidden", "spec"): 1}, id="more"),
        pytest.param({"resources": storage("1Mi")}, {("Forbidden", "spec"): 1}, id="less"),
        pytest.param({"storageClassName": "slow"}, {("Forbidden", "spec"): 1}, id="class"),
        pytest.param({"accessModes": ["ReadOnlyMany"]}, {("Forbidden", "spec"): 1}, id="modes"),
        pytest.param({"volumeAttributesClassName": "gold"}, {("Forbidden", "spec"): 1}, id="vac"),
        pytest.param(
            {"volumeMode": "Block"},
            {("Forbidden", "spec"): 1, ("Invalid", "volumeMode"): 1},
            id="volume-mode",
        ),
        pytest.param(
            {"dataSource": {"kind": "PersistentVolumeClaim", "name": "z"}},
            {("Forbidden", "spec"): 1},
            id="source",
        ),
    ],
)
def test_a_pending_claim_can_only_be_given_a_volume(
    changes: dict[str, Any], complaints: dict[tuple[str, str], int]
) -> None:
    assert causes(RULES.validate_update(a_claim(**changes), a_claim())) == complaints


@pytest.mark.parametrize(
    ("changes", "complaints"),
    [
        pytest.param({"resources": storage("2Gi")}, {}, id="more"),
        pytest.param({"volumeAttributesClassName": "gold"}, {}, id="attributes"),
        pytest.param(
            {"resources": storage("1Mi")},
            {("Forbidden", "spec.resources.requests.storage"): 1},
            id="less-than-there-is",
        ),
        pytest.param(
            {"resources": storage("1Gi", storage="5Gi")}, {("Forbidden", "spec"): 1}, id="limits"
        ),
        pytest.param({"volumeName": "pv-2"}, {("Forbidden", "spec"): 1}, id="another-volume"),
        pytest.param(
            {"resources": {}},
            {
                ("Required", "spec.resources[storage]"): 1,
                ("Forbidden", "spec"): 1,
                ("Forbidden", "spec.resources.requests.storage"): 1,
            },
            id="nothing",
        ),
    ],
)
def test_a_bound_claim_may_grow_and_change_its_attributes(
    changes: dict[str, Any], complaints: dict[tuple[str, str], int]
) -> None:
    after = a_bound_claim()
    after["spec"] |= changes

    assert causes(RULES.validate_update(after, a_bound_claim())) == complaints


def test_an_expansion_that_failed_may_be_taken_back_to_more_than_there_is() -> None:
    before, after = (a_bound_claim(resources=storage(size)) for size in ("9Gi", "2Gi"))

    assert not list(RULES.validate_update(after, before))


def test_an_attributes_class_in_force_is_not_taken_away() -> None:
    before = a_bound_claim(volumeAttributesClassName="gold")
    before["status"]["currentVolumeAttributesClassName"] = "gold"
    after = a_bound_claim() | {"status": before["status"]}

    assert list(causes(RULES.validate_update(after, before))) == [
        ("Forbidden", "spec.volumeAttributesClassName")
    ]


def test_a_claim_without_class_may_be_given_one() -> None:
    assert not list(RULES.validate_update(a_claim(), without_class(a_claim())))


def test_the_class_may_move_from_the_annotation_to_the_field() -> None:
    before = annotated(without_class(a_claim()), "fast")

    assert not list(RULES.validate_update(a_claim(), before))
    assert not list(RULES.validate_update(annotated(a_claim(), "fast"), before))
    assert causes(RULES.validate_update(a_claim(storageClassName="slow"), before)) == {
        ("Invalid", f"metadata.annotations.{CLASS_ANNOTATION}"): 1,
        ("Forbidden", "spec"): 1,
    }


def test_the_class_annotation_is_fixed_and_wins_over_the_field() -> None:
    after = annotated(a_claim(), "slow")

    assert claim_class(after) == "slow"
    assert claim_class(a_claim()) == "fast"
    assert list(causes(RULES.validate_update(after, a_claim()))) == [
        ("Invalid", f"metadata.annotations.{CLASS_ANNOTATION}")
    ]


def test_claims_from_before_there_were_two_source_fields_can_be_updated() -> None:
    source = {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "z"}
    before, after = a_claim(dataSource=source), a_claim(dataSource=source, dataSourceRef=source)

    assert not list(RULES.validate_update(after, before))


@pytest.mark.parametrize(
    ("status", "complaints"),
    [
        pytest.param({"phase": "Odd", "accessModes": ["Odd"]}, {}, id="anything-goes"),
        pytest.param(
            {"capacity": {"storage": "-1"}}, {("Invalid", "status.capacity[storage]"): 1}, id="size"
        ),
        pytest.param(
            {"allocatedResourceStatuses": {"storage": "Weird"}},
            {("NotSupported", "status.allocatedResourceStatuses"): 1},
            id="odd-resize-status",
        ),
        pytest.param(
            {"allocatedResources": {"cpu": "1", "example.com/iops": "1", "storage": "-1"}},
            {
                ("NotSupported", "status.allocatedResources"): 1,
                ("Invalid", "status.allocatedResources[storage]"): 1,
            },
            id="odd-resources",
        ),
    ],
)
def test_a_reported_status_is_checked_where_it_counts(
    status: Document, complaints: dict[tuple[str, str], int]
) -> None:
    reported = a_claim() | {"status": status}

    assert causes(RULES.validate_status(reported, a_claim())) == complaints


def test_the_class_annotation_is_pointed_out() -> None:
    (warning,) = RULES.warnings(annotated(a_claim(), "fast"), None)

    assert warning.startswith(f"metadata.annotations[{CLASS_ANNOTATION}]: deprecated")
