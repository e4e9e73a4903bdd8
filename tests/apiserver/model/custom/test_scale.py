import pytest

from plimsoll.apiserver.model.custom.scale import scale_of, scaled
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


def test_an_object_without_the_number_has_no_scale() -> None:
    with pytest.raises(ApiError, match="does not exist"):
        scale_of(PATHS, WIDGET | {"spec": {}})


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(ApiError, match="greater than or equal to 0"):
        scaled(PATHS, WIDGET, {"spec": {"replicas": -1}})
