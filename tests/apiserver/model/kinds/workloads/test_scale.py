import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.workloads.scale import scale_of, scaled, selector_text
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.model.kinds.workloads.objects import SELECTOR

WEB = {
    "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7"},
    "spec": {"replicas": 2, "selector": SELECTOR},
    "status": {"replicas": 1},
}


def test_a_scale_shows_what_is_wanted_and_what_is_there() -> None:
    assert scale_of(WEB) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": WEB["metadata"],
        "spec": {"replicas": 2},
        "status": {"replicas": 1, "selector": "app=web"},
    }


def test_zero_replicas_are_not_shown_as_wanted() -> None:
    assert scale_of(scaled(WEB, {"spec": {}}))["spec"] == {}


def test_the_version_of_the_scale_is_the_one_to_compare() -> None:
    scale = {"metadata": {"resourceVersion": "6"}, "spec": {"replicas": 5}}

    changed = scaled(WEB, scale)

    assert changed["spec"]["replicas"] == 5
    assert changed["metadata"]["resourceVersion"] == "6"
    assert "resourceVersion" not in scaled(WEB, {"spec": {"replicas": 5}})["metadata"]


def test_fewer_than_no_replicas_are_refused_in_the_name_of_the_scale() -> None:
    with pytest.raises(ApiError) as refusal:
        scaled(WEB, {"spec": {"replicas": -3}})

    details = refusal.value.details or {}
    assert (details["group"], details["kind"], details["name"]) == ("autoscaling", "Scale", "web")
    assert details["causes"][0]["field"] == "spec.replicas"


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({"b": "2", "a": "1"}, "a=1,b=2"),
        (
            {"matchLabels": {"b": "2"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
            "a,b=2",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]},
            "a in (x,y)",
        ),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, "a notin (x)"),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, "!a"),
    ],
)
def test_selectors_are_written_as_in_queries(selector: Document, text: str) -> None:
    assert selector_text(selector) == text
