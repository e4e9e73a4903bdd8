from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.csi_storage_capacity import RULES
from tests.apiserver.model.kinds.storage.objects import causes


def a_capacity(**fields: Any) -> Document:
    topology = {"matchLabels": {"zone": "a"}}
    return {"storageClassName": "fast", "capacity": "1Gi", "nodeTopology": topology} | fields


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"storageClassName": ""}, ("Invalid", "storageClassName")),
        ({"capacity": "-1"}, ("Invalid", "capacity")),
        ({"nodeTopology": {"matchLabels": {"a": "b c"}}}, ("Invalid", "nodeTopology.matchLabels")),
    ],
)
def test_a_wrong_field_is_refused(fields: Document, complaint: tuple[str, str]) -> None:
    assert list(causes(RULES.validate(a_capacity(**fields)))) == [complaint]


def test_bytes_may_change_but_not_where_and_for_which_class() -> None:
    larger = a_capacity(capacity="2Gi", maximumVolumeSize="1Gi")
    elsewhere = a_capacity(nodeTopology={"matchLabels": {"zone": "b"}}, storageClassName="slow")

    assert not list(RULES.validate_update(larger, a_capacity()))
    assert causes(RULES.validate_update(elsewhere, a_capacity())) == {
        ("Invalid", "nodeTopology"): 1,
        ("Invalid", "storageClassName"): 1,
    }


def test_labels_that_went_out_of_use_are_pointed_out() -> None:
    topology = {
        "matchLabels": {"beta.kubernetes.io/os": "linux"},
        "matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "Exists"}],
    }

    assert [
        w.partition(":")[0] for w in RULES.warnings(a_capacity(nodeTopology=topology), None)
    ] == [
        "nodeTopology.matchExpressions[0].key",
        "nodeTopology.matchLabels.beta.kubernetes.io/os",
    ]
