from collections import Counter

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.cluster.event import (
    CORE_RULES,
    NEW_RULES,
    core_to_events,
    events_to_core,
)
from tests.apiserver.model.kinds.complaints import complaints

POD = {"kind": "Pod", "namespace": "team", "name": "p"}
OLD_STYLE: Document = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "team"},
    "involvedObject": POD,
    "reason": "Test",
    "message": "hello",
    "source": {"component": "kubelet"},
    "firstTimestamp": "2020-01-01T00:00:00Z",
    "lastTimestamp": None,
    "eventTime": None,
    "count": 2,
    "reportingComponent": "",
    "reportingInstance": "",
    "type": "Odd",
}
NEW_STYLE: Document = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "team"},
    "regarding": POD,
    "reason": "Test",
    "note": "hello",
    "type": "Normal",
    "action": "Testing",
    "eventTime": "2020-01-01T00:00:00.000000Z",
    "reportingController": "example.com/tests",
    "reportingInstance": "t-1",
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}


def test_both_faces_show_the_same_event() -> None:
    shown = core_to_events(OLD_STYLE)

    assert shown == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "team"},
        "regarding": POD,
        "reason": "Test",
        "note": "hello",
        "deprecatedSource": {"component": "kubelet"},
        "deprecatedFirstTimestamp": "2020-01-01T00:00:00Z",
        "deprecatedLastTimestamp": None,
        "deprecatedCount": 2,
        "eventTime": None,
        "type": "Odd",
    }
    assert events_to_core(shown) == OLD_STYLE
    assert core_to_events(events_to_core(NEW_STYLE)) == NEW_STYLE


def test_little_is_asked_of_events_of_the_old_style() -> None:
    assert complaints(CORE_RULES.validate(OLD_STYLE)) == Counter()


@pytest.mark.parametrize(
    ("namespace", "involved", "allowed"),
    [
        ("team", "team", True),
        ("team", "other", False),
        ("team", "", False),
        ("default", "", True),
        ("kube-system", "", False),
    ],
)
def test_an_event_lives_where_its_object_does(
    namespace: str, involved: str, *, allowed: bool
) -> None:
    event = OLD_STYLE | {
        "metadata": {"namespace": namespace},
        "involvedObject": {"namespace": involved},
    }

    found = complaints(CORE_RULES.validate(event))

    assert found == (Counter() if allowed else Counter([("Invalid", "involvedObject.namespace")]))


def test_an_event_with_a_time_of_its_own_says_who_reports_what() -> None:
    event = OLD_STYLE | {"eventTime": "2020-01-01T00:00:00.000000Z"}

    assert complaints(CORE_RULES.validate(event)) == Counter(
        [
            ("Required", "reportingComponent"),
            ("Invalid", "reportingComponent"),
            ("Invalid", "reportingComponent"),
            ("Required", "reportingInstance"),
            ("Required", "action"),
        ]
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({}, [], id="complete"),
        pytest.param({"action": ""}, [("Required", "action")], id="no-action"),
        pytest.param({"reason": "x" * 129}, [("Invalid", "reason")], id="long-reason"),
        pytest.param({"note": "x" * 1025}, [("Invalid", "message")], id="long-note"),
        pytest.param({"type": "Odd"}, [("Invalid", "type")], id="type"),
        pytest.param({"deprecatedCount": 5}, [("Invalid", "count")], id="count"),
        pytest.param({"deprecatedSource": {"host": "h"}}, [("Invalid", "source")], id="source"),
        pytest.param({"eventTime": None}, [("Required", "eventTime")], id="no-time"),
        pytest.param(
            {"reportingController": "a b"}, [("Invalid", "reportingController")], id="reporter"
        ),
        pytest.param(
            {"series": {"count": 1}},
            [("Invalid", "series.count"), ("Required", "series.lastObservedTime")],
            id="series",
        ),
    ],
)
def test_the_newer_face_is_strict(change: Document, expected: list[tuple[str, str]]) -> None:
    assert complaints(NEW_RULES.validate(NEW_STYLE | change)) == Counter(expected)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"reason": "Other"}, "reason"), ({"note": "Other"}, "message"), ({"action": "x"}, "action")],
)
def test_an_event_is_history_and_does_not_change(change: Document, field: str) -> None:
    found = complaints(NEW_RULES.validate_update(NEW_STYLE | change, NEW_STYLE))

    assert found == Counter([("Invalid", field)])


def test_an_event_may_be_seen_again() -> None:
    series = {"count": 2, "lastObservedTime": "2020-01-01T00:00:10.000000Z"}

    found = complaints(NEW_RULES.validate_update(NEW_STYLE | {"series": series}, NEW_STYLE))

    assert found == Counter()


def test_each_face_selects_by_its_own_names() -> None:
    fields = CORE_RULES.selectable_fields(OLD_STYLE)

    assert fields["involvedObject.name"] == "p"
    assert fields["source"] == "kubelet"
    assert NEW_RULES.selectable_fields(NEW_STYLE)["regarding.kind"] == "Pod"
    assert "source" not in NEW_RULES.selectable_names
    assert set(fields) == CORE_RULES.selectable_names
