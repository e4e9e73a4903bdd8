import pytest

from plimsoll.apiserver.model.custom.scale import UNSET, check_is_set, scale_of, scaled
from plimsoll.apiserver.model.status import ApiError

PATHS = {
    "specReplicasPath": ".spec.size.wanted",
    "statusReplicasPath": ".status.found",
    "labelSelectorPath": ".status.selector",
}
WIDGET = {
    "metadata": {"name": "a", "uid": "u", "resourceVersion": "5", "labels": {"x": "y"}},
    "spec": {"size": {"wanted": 2}},
    "status": {"found": 1, "selector": "a=b"},
}


def test_numbers_are_found_at_the_named_places() -> None:
    scale = scale_of(PATHS, WIDGET)
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 1, "selector": "a=b"}
    assert "labels" not in scale["metadata"]


def test_the_wanted_number_is_written_to_its_place() -> None:
    changed = scaled(PATHS, WIDGET, {"metadata": {"resourceVersion": "4"}, "spec": {"replicas": 7}})
    assert changed["spec"] == {"size": {"wanted": 7}}
    assert changed["metadata"]["resourceVersion"] == "4"
    assert WIDGET["spec"] == {"size": {"wanted": 2}}


def test_an_object_without_the_number_has_no_scale_to_read() -> None:
    with pytest.raises(ApiError, match="does not exist") as refused:
        check_is_set(PATHS, WIDGET | {"spec": {}})
    assert refused.value.code == 500
    check_is_set(PATHS, WIDGET)


def test_a_write_of_a_scale_sets_a_number_that_was_not_set() -> None:
    unset = WIDGET | {"spec": {}}
    read = scale_of(PATHS, unset)
    assert read["spec"] == {"replicas": UNSET}
    assert scaled(PATHS, unset, read | {"spec": {"replicas": 3}})["spec"] == {"size": {"wanted": 3}}


def test_a_write_of_a_scale_may_not_leave_the_number_unset() -> None:
    unset = WIDGET | {"spec": {}}
    with pytest.raises(ApiError, match="cannot be empty"):
        scaled(PATHS, unset, scale_of(PATHS, unset))


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(ApiError, match="greater than or equal to 0"):
        scaled(PATHS, WIDGET, {"spec": {"replicas": -1}})
