from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.storage_class import RULES
from tests.apiserver.model.kinds.storage.objects import causes


def a_class(**fields: Any) -> Document:
    storage_class = {"metadata": {"name": "fast"}, "provisioner": "d.example.com"} | fields
    RULES.default(storage_class)
    return storage_class


def test_a_class_deletes_and_binds_at_once_unless_told_otherwise() -> None:
    told = a_class(reclaimPolicy="Retain", volumeBindingMode="WaitForFirstConsumer")

    assert (a_class()["reclaimPolicy"], a_class()["volumeBindingMode"]) == ("Delete", "Immediate")
    assert (told["reclaimPolicy"], told["volumeBindingMode"]) == ("Retain", "WaitForFirstConsumer")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        pytest.param({"provisioner": ""}, ("Required", "provisioner"), id="no-provisioner"),
        pytest.param(
            {"reclaimPolicy": "Recycle"}, ("NotSupported", "reclaimPolicy"), id="recycling"
        ),
        pytest.param(
            {"volumeBindingMode": ""}, ("NotSupported", "volumeBindingMode"), id="empty-mode"
        ),
        pytest.param({"parameters": {"": "x"}}, ("Invalid", "parameters"), id="empty-parameter"),
    ],
)
def test_a_wrong_field_is_refused(fields: Document, complaint: tuple[str, str]) -> None:
    assert list(causes(RULES.validate(a_class(**fields)))) == [complaint]


def test_an_empty_reclaim_policy_is_let_through() -> None:
    assert not list(RULES.validate(a_class(reclaimPolicy="")))


@pytest.mark.parametrize(
    "change",
    [
        {"provisioner": "other.example.com"},
        {"parameters": {"a": "b"}},
        {"reclaimPolicy": "Retain"},
        {"volumeBindingMode": "WaitForFirstConsumer"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_volumes_were_made_by_never_changes(change: Document) -> None:
    (field,) = change

    assert list(causes(RULES.validate_update(a_class(**change), a_class()))) == [("Invalid", field)]


def test_expansion_mount_options_and_topologies_may_change() -> None:
    term = {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}
    changed = a_class(
        allowVolumeExpansion=True, mountOptions=["ro"], allowedTopologies=[term], parameters={}
    )

    assert not list(RULES.validate_update(changed, a_class()))


def test_old_zone_labels_in_topologies_are_pointed_out() -> None:
    key = "failure-domain.beta.kubernetes.io/zone"
    term = {"matchLabelExpressions": [{"key": "zone"}, {"key": key}]}

    (warning,) = RULES.warnings(a_class(allowedTopologies=[term]), None)

    assert warning.startswith("allowedTopologies[0].matchLabelExpressions[1].key: deprecated")
