from collections import Counter

import pytest

from plimsoll.apiserver.model.kinds.resource_names import (
    amount_errors,
    container_name_errors,
    quota_name_errors,
    resource_name_errors,
)
from tests.apiserver.model.kinds.complaints import complaints


@pytest.mark.parametrize(
    ("name", "any_object", "quota", "container"),
    [
        ("cpu", 0, 0, 0),
        ("storage", 0, 1, 1),
        ("requests.storage", 0, 0, 1),
        ("hugepages-2Mi", 0, 0, 0),
        ("example.com/gpu", 0, 0, 0),
        ("gold.storageclass.storage.k8s.io/requests.storage", 0, 0, 0),
        ("bogus", 1, 2, 2),
    ],
)
def test_names_that_objects_may_count(
    name: str, any_object: int, quota: int, container: int
) -> None:
    found = [
        complaints(errors(name, "x")).total()
        for errors in (resource_name_errors, quota_name_errors, container_name_errors)
    ]

    assert found == [any_object, quota, container]


@pytest.mark.parametrize(
    ("name", "amount", "faults"),
    [
        ("cpu", "1500m", 0),
        ("cpu", "-1", 1),
        ("pods", "1500m", 1),
        ("example.com/gpu", "500m", 1),
        ("memory", "0", 0),
    ],
)
def test_what_is_counted_in_pieces_comes_whole(name: str, amount: str, faults: int) -> None:
    assert complaints(amount_errors(name, amount, "x")) == Counter([("Invalid", "x")] * faults)
