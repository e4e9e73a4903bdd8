from collections import Counter

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.policy.limit_range import RULES
from tests.apiserver.model.kinds.complaints import complaints


def a_limit_range(*limits: Document) -> Document:
    limit_range: Document = {"metadata": {}, "spec": {"limits": list(limits)}}
    RULES.default(limit_range)
    return limit_range


def test_containers_get_the_most_as_limit_and_the_limit_as_request() -> None:
    limits = {
        "type": "Container",
        "max": {"cpu": "2"},
        "min": {"cpu": "1", "memory": "1Mi"},
    }

    (limit,) = a_limit_range(limits)["spec"]["limits"]

    assert limit["default"] == {"cpu": "2"}
    assert limit["defaultRequest"] == {"cpu": "2", "memory": "1Mi"}


CLAIM = {"type": "PersistentVolumeClaim"}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(CLAIM | {"max": {"storage": "1Gi"}}, [], id="claim"),
        pytest.param(CLAIM, [("Required", "limits")], id="claim-without-bounds"),
        pytest.param(
            CLAIM | {"min": {"storage": "2Gi"}, "max": {"storage": "1Gi"}},
            [("Invalid", "min[storage]")],
            id="least-above-most",
        ),
        pytest.param({"type": "Nope"}, [("Invalid", "type")], id="type"),
        pytest.param(
            {"type": "Pod", "default": {"cpu": "1"}}, [("Forbidden", "default")], id="pod-default"
        ),
        pytest.param(
            {"type": "Container", "default": {"cpu": "3"}, "max": {"cpu": "2"}},
            [("Invalid", "default[cpu]"), ("Invalid", "defaultRequest[cpu]")],
            id="default-above-most",
        ),
        pytest.param(
            {"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}},
            [("Invalid", "maxLimitRequestRatio[cpu]")],
            id="ratio-below-one",
        ),
        pytest.param(
            {
                "type": "Pod",
                "maxLimitRequestRatio": {"cpu": "3"},
                "min": {"cpu": "1"},
                "max": {"cpu": "2"},
            },
            [("Invalid", "maxLimitRequestRatio[cpu]")],
            id="ratio-that-cannot-be",
        ),
    ],
)
def test_bounds_leave_room(limit: Document, expected: list[tuple[str, str]]) -> None:
    found = complaints(RULES.validate(a_limit_range(limit)))

    assert found == Counter((reason, f"spec.limits[0].{field}") for reason, field in expected)


def test_each_type_is_limited_once() -> None:
    found = complaints(RULES.validate(a_limit_range({"type": "Pod"}, {"type": "Pod"})))

    assert found == Counter([("Duplicate", "spec.limits[1].type")])


def test_a_limit_range_may_be_empty() -> None:
    limit_range: Document = {"metadata": {}, "spec": {"limits": None}}

    RULES.default(limit_range)

    assert complaints(RULES.validate(limit_range)) == Counter()
